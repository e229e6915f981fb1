// SPDX-License-Identifier: BSD-3-Clause
// Explains reasons for dropping packets and their remedies, settings and counters, without a
// daemon.
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "conf_explain.h"
#include "drop.h"
#include "field.h"
#include "nearest.h"
#include "schema.h"

static const char *scope_name(const struct drop_info *d)
{
	return d->scope == DROP_SCOPE_SA ? "gateway and SA" : "gateway";
}

static void reason_print(const struct drop_info *d)
{
	output_paragraph(stdout, "Reason", "", d->name);
	output_paragraph(stdout, "Counted on", "", scope_name(d));
	output_paragraph(stdout, "A packet", "", d->help);
	output_paragraph(stdout, "What to do", "", d->advice);
}

static json_t *reason_object(const struct drop_info *d)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "reason", d->name, "scope", scope_name(d), "help",
		d->help, "advice", d->advice);
}

static enum exit_code reasons_explain(const struct options *options)
{
	json_t *objects = options->json ? json_array() : NULL;

	for (enum drop d = 1; d < DROP_COUNT; d++)
		if (options->json)
			json_array_append_new(objects, reason_object(&drop_info[d]));
		else
			printf("%-20s%s\n", drop_info[d].name, drop_info[d].help);
	return options->json ? output_json(objects) : EXIT_OK;
}

// --- settings ---

// The settings that are explained: those of a name, or all of them.
struct settings {
	const char *name; // "sas.udp.keepalive", or the last part of it; NULL: all
	json_t *objects;  // of the results
	struct nearest nearest;
	char best[64]; // of nearest
};

static void setting_take(void *arg, const struct conf_explanation *e)
{
	struct settings *s = arg;
	const char *last = strrchr(e->setting, '.');
	size_t len = s->name != NULL ? strlen(s->name) : 0;
	bool in_group = len > 0 && strncmp(s->name, e->setting, len) == 0 && e->setting[len] == '.';

	if (s->name != NULL && strcmp(s->name, e->setting) != 0 && !in_group &&
		(last == NULL || strcmp(s->name, last + 1) != 0)) {
		nearest_try(&s->nearest, e->setting);
		if (s->nearest.best == e->setting)
			s->nearest.best = strncpy(s->best, e->setting, sizeof(s->best) - 1);
		return;
	}
	json_array_append_new(
		s->objects, json_pack("{s:s, s:o, s:o, s:s, s:o, s:o}", "setting", e->setting,
				    "value", output_plain_new(e->value), "default",
				    output_plain_new(e->absent), "change", e->change, "only",
				    output_plain_new(e->only), "help", output_plain_new(e->help)));
}

static void setting_print(const json_t *setting)
{
	static const char *const rows[][2] = {{"Setting", "setting"}, {"Value", "value"},
		{"Default", "default"}, {"Only for", "only"}, {"Change by", "change"},
		{"Meaning", "help"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		output_paragraph(stdout, rows[i][0], "", object_text(setting, rows[i][1]));
}

static enum exit_code settings_explain(const struct options *options, struct settings *s)
{
	json_t *setting;
	size_t i;

	if (options->json)
		return output_json(s->objects);
	json_array_foreach(s->objects, i, setting)
	{
		if (s->name == NULL) {
			printf("%-36s%s\n", object_text(setting, "setting"),
				object_text(setting, "help"));
			continue;
		}
		if (i > 0)
			putchar('\n');
		setting_print(setting);
	}
	json_decref(s->objects);
	return EXIT_OK;
}

// --- fields ---

static enum exit_code fields_print(const struct options *options, json_t *fields)
{
	char command[64];
	json_t *field;
	size_t i;

	if (options->json)
		return output_json(fields);
	json_array_foreach(fields, i, field)
	{
		snprintf(
			command, sizeof(command), "culvertctl show %s", object_text(field, "list"));
		if (i > 0)
			putchar('\n');
		output_paragraph(stdout, "Field", "", object_text(field, "field"));
		output_paragraph(stdout, "Shown by", "", command);
		output_paragraph(stdout, "Meaning", "", object_text(field, "help"));
	}
	json_decref(fields);
	return EXIT_OK;
}

// --- all ---

static void word_unknown(const char *word, const struct settings *s)
{
	struct nearest reason = {.text = word};

	for (enum drop d = 1; d < DROP_COUNT; d++)
		nearest_try(&reason, drop_info[d].name);
	if (reason.best != NULL)
		errx(EXIT_USAGE, "explain: unknown reason \"%s\", did you mean \"%s\"?", word,
			reason.best);
	if (s->nearest.best != NULL)
		errx(EXIT_USAGE, "explain: unknown setting \"%s\", did you mean \"%s\"?", word,
			s->nearest.best);
	errx(EXIT_USAGE,
		"explain: unknown reason \"%s\"; \"culvertctl explain\" lists all reasons, "
		"\"culvertctl explain settings\" all settings",
		word);
}

enum exit_code command_explain(const struct options *options, char **words)
{
	struct settings s = {.name = words[0], .nearest.text = words[0]};
	enum drop d = 1;
	json_t *fields;

	if (words[0] == NULL)
		return reasons_explain(options);
	if (words[1] != NULL)
		errx(EXIT_USAGE, "explain: unexpected argument \"%s\"", words[1]);
	if (strcmp(words[0], "schema") == 0)
		return output_json(schema_new());
	if (strcmp(words[0], "settings") == 0)
		s.name = NULL;
	while (d < DROP_COUNT && strcmp(drop_info[d].name, words[0]) != 0)
		d++;
	if (d < DROP_COUNT && options->json)
		return output_json(json_pack("[o]", reason_object(&drop_info[d])));
	s.objects = json_array();
	if (conf_explain(setting_take, &s) < 0)
		errx(EXIT_FAILED, "explain: out of memory");
	if (d < DROP_COUNT) {
		reason_print(&drop_info[d]);
		if (json_array_size(s.objects) > 0)
			putchar('\n');
	} else if (json_array_size(s.objects) == 0) {
		fields = fields_explain(words[0]);
		if (json_array_size(fields) == 0) {
			json_decref(fields);
			word_unknown(words[0], &s);
		}
		json_decref(s.objects);
		return fields_print(options, fields);
	}
	return settings_explain(options, &s);
}
