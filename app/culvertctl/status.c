// SPDX-License-Identifier: BSD-3-Clause
// culvertctl status: whether a daemon is well, on one screen. Its problems come first, then a
// summary of each subject. The exit code is for scripts.
#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "drop.h"
#include "instances.h"
#include "output.h"
#include "picture.h"
#include "screen.h"

#define PORTS_MAX   3 // lines of each subject
#define TUNNELS_MAX 4
#define DROPS_MAX   2

// --- the state ---

// Text is NULL without memory.
static json_t *textf(const char *format, ...) __attribute__((format(printf, 1, 2)));

static json_t *textf(const char *format, ...)
{
	json_t *text;
	va_list args;

	va_start(args, format);
	text = json_vsprintf(format, args);
	va_end(args);
	return text;
}

static bool is_text(const json_t *object, const char *name, const char *wanted)
{
	const char *text = object_text(object, name);

	return text != NULL && strcmp(text, wanted) == 0;
}

static bool has_no_link(const json_t *port)
{
	return !is_text(port, "link", "up");
}

static bool loses(const json_t *port)
{
	return object_number(port, "missed/s") > 0;
}

static bool is_stalled(const json_t *worker)
{
	return is_text(worker, "state", "stalled");
}

static bool grows(const json_t *drop)
{
	return object_number(drop, "packets/s") > 0;
}

static json_t *chosen(const json_t *rows, bool (*choose)(const json_t *row))
{
	json_t *some = json_array();

	for (size_t i = 0; i < json_array_size(rows); i++)
		if (choose(json_array_get(rows, i)))
			json_array_append(some, json_array_get(rows, i));
	return some;
}

static void problem_add(json_t *problems, const json_t *rows, bool (*choose)(const json_t *row),
	const char *problem)
{
	json_t *some = chosen(rows, choose);

	if (json_array_size(some) > 0)
		json_array_append_new(problems, textf("%zu of %zu %s", json_array_size(some),
							json_array_size(rows), problem));
	json_decref(some);
}

// A tunnel that has received nothing yet may be new, or wait for traffic.
static json_int_t tunnels_bad(const json_t *totals)
{
	return object_number(totals, "tunnels") - object_number(totals, "tunnels_up") -
	       object_number(totals, "tunnels_never") - object_number(totals, "tunnels_standby");
}

// A start would use the revision before it.
static bool file_is_unconfirmed(const json_t *info)
{
	return object_number(info, "unconfirmed") > 0 &&
	       !json_is_integer(json_object_get(info, "confirm_s"));
}

// Sentences; none: all is well.
static json_t *problems_of(const json_t *tables, const json_t *info, const json_t *totals)
{
	json_t *problems = json_array();

	problem_add(
		problems, json_object_get(tables, "ports"), has_no_link, "ports without a link");
	problem_add(problems, json_object_get(tables, "ports"), loses, "ports lose frames");
	problem_add(problems, json_object_get(tables, "workers"), is_stalled, "workers stalled");
	if (tunnels_bad(totals) > 0)
		json_array_append_new(problems,
			textf("%lld of %lld tunnels not up", (long long)tunnels_bad(totals),
				(long long)object_number(totals, "tunnels")));
	if (file_is_unconfirmed(info))
		json_array_append_new(problems, textf("the file was not confirmed"));
	if (object_text(info, "history_error") != NULL)
		json_array_append_new(problems, textf("the history cannot be written"));
	if (object_text(info, "refused") != NULL)
		json_array_append_new(problems, textf("the last reload was refused"));
	return problems;
}

static json_t *status_of(const struct picture *before, const struct picture *now)
{
	const json_t *info = picture_first(now, PICTURE_INFO);
	const json_t *totals = picture_first(now, PICTURE_TOTALS);
	json_t *tables = picture_tables(before, now);
	json_t *problems = problems_of(tables, info, totals);
	json_t *status = json_pack("{s:s, s:o, s:O, s:{s:I, s:I, s:I, s:O}, s:O, s:O, s:o}",
		"state", json_array_size(problems) == 0 ? "well" : "degraded", "problems", problems,
		"info", info, "tunnels", "all", object_number(totals, "tunnels"), "up",
		object_number(totals, "tunnels_up"), "never",
		object_number(totals, "tunnels_never"), "not_up",
		json_object_get(tables, "tunnels"), "ports", json_object_get(tables, "ports"),
		"workers", json_object_get(tables, "workers"), "drops",
		chosen(json_object_get(tables, "drops"), grows));

	json_decref(tables);
	if (status == NULL)
		errx(EXIT_FAILED, "malformed answer: is this a culvertd of the same version?");
	return status;
}

// --- for people ---

// A line of a subject, whose first line has its label; it gives up the reference to text.
static void line_print(FILE *out, const char **label, const char *state, json_t *text)
{
	output_paragraph(out, *label, state, text != NULL ? json_string_value(text) : "");
	json_decref(text);
	*label = "";
}

static void row_print(FILE *out, const char **label, const json_t *row, const char *state,
	json_t *(*text)(const json_t *row))
{
	const char *word = object_text(row, state);

	line_print(out, label, word != NULL ? word : "?", text(row));
}

static void more_print(FILE *out, const char **label, size_t all, size_t shown, const char *command)
{
	if (all > shown)
		line_print(out, label, "", textf("%zu more: culvertctl %s", all - shown, command));
}

static void instance_print(FILE *out, const json_t *info)
{
	const char *instance = object_text(info, "instance"), *label = "Instance";
	const char *version = object_text(info, "version");
	json_int_t seconds = object_number(info, "uptime_s");
	char since[OUTPUT_TIME_MAX], up[OUTPUT_TIME_MAX];

	line_print(out, &label, "",
		textf("%s, version %s, since %s (%s)", instance != NULL ? instance : "?",
			version != NULL ? version : "?",
			output_time(since, time(NULL) - (time_t)seconds),
			output_duration(up, seconds)));
}

static double decimal(const json_t *row, const char *name)
{
	return json_number_value(json_object_get(row, name));
}

static json_t *port_text(const json_t *row)
{
	return textf("%s: received %.0f/s, %.1f Mbit/s; sent %.0f/s, %.1f Mbit/s%s",
		object_text(row, "port"), decimal(row, "rx/s"), decimal(row, "rx_mbit/s"),
		decimal(row, "tx/s"), decimal(row, "tx_mbit/s"),
		loses(row) ? "; loses frames" : "");
}

static bool is_fine(const json_t *port)
{
	return !has_no_link(port) && !loses(port);
}

static bool is_not_fine(const json_t *port)
{
	return !is_fine(port);
}

// Ports with problems first.
static void ports_print(FILE *out, const json_t *ports)
{
	json_t *rows = chosen(ports, is_not_fine), *others = chosen(ports, is_fine);
	const char *label = "Ports";

	json_array_extend(rows, others);
	json_decref(others);
	for (size_t i = 0; i < json_array_size(rows) && i < PORTS_MAX; i++)
		row_print(out, &label, json_array_get(rows, i), "link", port_text);
	more_print(out, &label, json_array_size(rows), PORTS_MAX, "show ports");
	json_decref(rows);
}

// "": it is none of this version.
static const char *drop_help(const char *reason)
{
	for (enum drop d = 1; d < DROP_COUNT; d++)
		if (strcmp(drop_info[d].name, reason) == 0)
			return drop_info[d].help;
	return "";
}

// "": it is none of this version.
static const char *down_help(const char *reason)
{
	static const char *const help[][2] = {
		{"command", "an operator has taken it down"},
		{"no_sa", "IKE has no SA for it"},
		{"stopped", "its SA needs a new key"},
		{"peer_unknown", "the address of its peer is not known"},
		{"link", "the port to its peer has no link"},
		{"probe", "its probe is not answered"},
	};

	for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
		if (strcmp(help[i][0], reason) == 0)
			return help[i][1];
	return "";
}

// Why a tunnel is not up.
static json_t *tunnel_text(const json_t *row)
{
	const char *name = object_text(row, "tunnel"), *reason = object_text(row, "reason");
	const char *peer = object_text(row, "peer");

	if (is_text(row, "state", "silent"))
		return textf("%s: nothing received from %s for %lld s", name,
			peer != NULL ? peer : "the peer",
			(long long)object_number(row, "silent_s"));
	if (is_text(row, "state", "stopped"))
		return textf("%s: its SA needs a new key", name);
	if (is_text(row, "state", "never"))
		return textf("%s: nothing received yet", name);
	if (reason == NULL)
		return textf("%s", name);
	return textf("%s: %s: %s", name, reason,
		is_text(row, "state", "down") ? down_help(reason) : drop_help(reason));
}

static void tunnels_print(FILE *out, const json_t *tunnels)
{
	const json_t *rows = json_object_get(tunnels, "not_up");
	json_int_t all = object_number(tunnels, "all"), up = object_number(tunnels, "up");
	const char *label = "Tunnels";

	if (all == 0)
		return;
	line_print(out, &label, "", textf("%lld of %lld up", (long long)up, (long long)all));
	for (size_t i = 0; i < json_array_size(rows) && i < TUNNELS_MAX; i++)
		row_print(out, &label, json_array_get(rows, i), "state", tunnel_text);
	more_print(out, &label, (size_t)(all - up), TUNNELS_MAX, "show tunnels");
}

static int by_rate(const void *a, const void *b)
{
	json_int_t x = object_number(*(json_t *const *)a, "packets/s");
	json_int_t y = object_number(*(json_t *const *)b, "packets/s");

	return (x < y) - (x > y);
}

static void drops_print(FILE *out, const json_t *drops)
{
	size_t n = json_array_size(drops);
	const json_t *rows[DROP_COUNT];
	const char *label = "Drops";

	n = n < DROP_COUNT ? n : DROP_COUNT;
	for (size_t i = 0; i < n; i++)
		rows[i] = json_array_get(drops, i);
	qsort(rows, n, sizeof(rows[0]), by_rate);
	for (size_t i = 0; i < n && i < DROPS_MAX; i++)
		line_print(out, &label, "",
			textf("%s %lld/s: %s", object_text(rows[i], "drop"),
				(long long)object_number(rows[i], "packets/s"),
				object_text(rows[i], "help")));
	more_print(out, &label, n, DROPS_MAX, "top");
}

static void changes_print(FILE *out, const json_t *info)
{
	const char *refused = object_text(info, "refused"), *changes = "Changes",
		   *reload = "Reload", *error = object_text(info, "history_error");
	long long unconfirmed = object_number(info, "unconfirmed");
	json_int_t unsaved = object_number(info, "unsaved");
	char at[OUTPUT_TIME_MAX];

	if (unsaved > 0)
		line_print(out, &changes, "",
			textf("%lld at run time, which the file may lack: culvertctl diff",
				(long long)unsaved));
	if (file_is_unconfirmed(info))
		line_print(out, &changes, "",
			textf("revision %lld was not confirmed: a start does not use the file "
			      "until culvertctl reload",
				unconfirmed));
	else if (unconfirmed > 0)
		line_print(out, &changes, "",
			textf("revision %lld is undone in %lld s, unless culvertctl confirm "
			      "follows",
				unconfirmed, (long long)object_number(info, "confirm_s")));
	if (error != NULL)
		line_print(out, &changes, "", textf("the history cannot be written: %s", error));
	if (refused != NULL)
		line_print(out, &reload, "refused",
			textf("%s: %s",
				output_time(
					at, time(NULL) - (time_t)object_number(info, "refused_s")),
				refused));
}

static void problems_print(FILE *out, const json_t *problems)
{
	const char *label = "Status";
	json_t *all = json_string("");

	for (size_t i = 0; i < json_array_size(problems); i++) {
		json_t *longer = textf("%s%s%s", json_string_value(all), i > 0 ? "; " : "",
			json_string_value(json_array_get(problems, i)));

		json_decref(all);
		all = longer;
	}
	line_print(out, &label, json_array_size(problems) > 0 ? "degraded" : "well", all);
}

static void status_print(FILE *out, const json_t *status)
{
	const json_t *info = json_object_get(status, "info");

	problems_print(out, json_object_get(status, "problems"));
	instance_print(out, info);
	ports_print(out, json_object_get(status, "ports"));
	tunnels_print(out, json_object_get(status, "tunnels"));
	drops_print(out, json_object_get(status, "drops"));
	changes_print(out, info);
}

static void status_draw(const json_t *status)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		err(EXIT_FAILED, NULL);
	status_print(out, status);
	if (fclose(out) == 0)
		screen_show(text);
	free(text);
}

struct report {
	const struct options *options;
	enum exit_code code;
};

static void status_show(void *arg, const struct picture *before, const struct picture *now)
{
	struct report *report = arg;
	json_t *status = status_of(before, now);

	report->code = is_text(status, "state", "well") ? EXIT_OK : EXIT_DEGRADED;
	if (report->options->json && report->options->watch > 0)
		output_json_line(json_incref(status));
	else if (report->options->json)
		output_json(json_incref(status));
	else if (report->options->watch > 0)
		status_draw(status);
	else
		status_print(stdout, status);
	json_decref(status);
}

enum exit_code command_status(const struct options *options, char **words)
{
	struct report report = {options, EXIT_FAILED};

	(void)words;
	picture_repeat(instance_choose(options->instance), options->watch, status_show, &report);
	return report.code;
}
