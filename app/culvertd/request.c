// SPDX-License-Identifier: BSD-3-Clause
#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "conf_change.h"
#include "conf_diff.h"
#include "conf_print.h"
#include "event_log.h"
#include "gateway.h"
#include "log.h"
#include "notify.h"
#include "telemetry_flow.h"
#include "telemetry_trace.h"

#define LOG_LINES    20 // about one change
#define NEW_KEYS     "new-keys "
#define REFUSALS_MAX 10 // at once in the log, and one more each second: of those who may only look

struct request_kind {
	const char *name;
	bool changes;
	configure_make *make;             // on the loading thread; its argument is the gateway
	void (*begin)(struct gateway *g); // NULL: nothing
	// rc: of configure_loaded(). Returns the status of the answer.
	const char *(*finish)(struct gateway *g, int rc);
};

// What has been written about the request.
static const char *written(const struct requests *r)
{
	return r->incomplete ? "out of memory for the request\n" : r->out_text;
}

// --- reload ---

static struct conf *reload_make(void *arg, const struct conf *running, FILE *errors)
{
	const struct gateway *g = arg;

	return conf_load(g->conf_path, running, errors);
}

static void reload_begin(struct gateway *g)
{
	notify_reloading();
	log_info("reloading %s", g->conf_path);
}

static void log_lines(const char *lines)
{
	while (*lines != '\0') {
		size_t len = strcspn(lines, "\n");

		log_error("%.*s", (int)len, lines);
		lines += len + (lines[len] == '\n');
	}
}

static void post_request(
	const struct control_request *asked, const char *name, bool done, uint32_t generation)
{
	const struct event_value values[EVENT_REQUEST_DONE_FIELDS] = {EVENT_TEXT(name),
		EVENT_NUMBER(generation), EVENT_NUMBER(asked->uid), EVENT_NUMBER(asked->pid)};

	event_log_add(done ? EVENT_REQUEST_DONE : EVENT_REQUEST_REFUSED, values);
}

// Of what changes something, or was to.
static const char *status_of(const struct gateway *g, int rc)
{
	const struct requests *r = &g->requests;
	const char *status = rc < 0 ? "refused" : "ok";

	if (r->asked.text != NULL)
		post_request(&r->asked, r->kind->name, rc == 0, g->snapshot->generation);
	return status;
}

static const char *reload_finish(struct gateway *g, int rc)
{
	if (rc < 0) {
		log_lines(written(&g->requests));
		event_post(RELOAD_REFUSED, EVENT_TEXT(written(&g->requests)));
	} else {
		event_post(RELOADED, EVENT_NUMBER(g->snapshot->generation));
	}
	notify_ready();
	return status_of(g, rc);
}

// How two configurations differ, in a word.
static const char *const difference_kinds[] = {
	[CONF_ADDED] = "added",
	[CONF_REMOVED] = "removed",
	[CONF_CHANGED] = "changed",
	[CONF_MOVED] = "moved",
};

// --- diff ---

static const char *shown(const char *text)
{
	return text != NULL ? text : "";
}

static void difference_write(void *out, const struct conf_difference *d)
{
	fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%u\n", difference_kinds[d->kind],
		shown(d->noun), shown(d->name), shown(d->setting), shown(d->from), shown(d->to),
		d->secret ? "key" : "", d->restart ? "restart" : "", d->where.file, d->where.line);
}

// n: of those that were written, or -ENOMEM.
static void differences_count(struct requests *r, int n)
{
	r->incomplete |= n < 0;
	r->n_different = n > 0 ? (unsigned int)n : 0;
}

static struct conf *diff_make(void *arg, const struct conf *running, FILE *out)
{
	struct gateway *g = arg;
	struct conf *conf = conf_load(g->conf_path, NULL, out);

	g->requests.refused = conf == NULL;
	if (conf != NULL)
		differences_count(&g->requests, conf_diff(running, conf, difference_write, out));
	conf_free(conf);
	return NULL;
}

static const char *diff_finish(struct gateway *g, int rc)
{
	(void)rc;
	if (g->requests.refused || g->requests.incomplete)
		return "refused";
	return g->requests.n_different > 0 ? "different" : "same";
}

// --- config and save ---

static struct conf *config_make(void *arg, const struct conf *running, FILE *out)
{
	struct gateway *g = arg;

	conf_print(running, out);
	g->requests.refused = false;
	return NULL;
}

static struct conf *save_make(void *arg, const struct conf *running, FILE *out)
{
	struct gateway *g = arg;
	struct conf *conf = conf_load(g->conf_path, NULL, out);

	g->requests.refused = conf == NULL;
	if (conf != NULL)
		differences_count(&g->requests, conf_print_changes(conf, running, out));
	conf_free(conf);
	return NULL;
}

static const char *text_finish(struct gateway *g, int rc)
{
	(void)rc;
	return g->requests.refused || g->requests.incomplete ? "refused" : "text";
}

// --- change ---

// For the log.
static void change_write(void *arg, const struct conf_difference *d)
{
	struct requests *r = arg;

	if (++r->n_different > LOG_LINES)
		return;
	if (d->kind == CONF_CHANGED)
		fprintf(r->log, "%s \"%s\": %s changed\n", d->noun, d->name, d->setting);
	else
		fprintf(r->log, "%s \"%s\" %s\n", d->noun, d->name, difference_kinds[d->kind]);
}

static struct conf *change_make(void *arg, const struct conf *running, FILE *errors)
{
	struct requests *r = &((struct gateway *)arg)->requests;
	char *line_end = strchr(r->text, '\n');
	char *name = strchr(r->text, ' ');
	struct conf *conf;

	if (line_end == NULL || name == NULL || name > line_end) {
		fputs("the request is incomplete\n", errors);
		return NULL;
	}
	*line_end = '\0';
	conf = conf_change(running, name + 1, line_end + 1,
		r->asked.len - (size_t)(line_end + 1 - r->asked.text), errors);
	if (conf != NULL && conf_diff(running, conf, change_write, r) < 0)
		fputs("changed; out of memory to list the changes\n", r->log);
	return conf;
}

static const char *change_finish(struct gateway *g, int rc)
{
	const struct requests *r = &g->requests;
	const char *line = r->log_text;

	while (rc == 0 && line != NULL && *line != '\0') {
		size_t len = strcspn(line, "\n");

		log_info("user %u, process %d: %.*s", r->asked.uid, r->asked.pid, (int)len, line);
		line += len + 1;
	}
	if (rc == 0 && r->n_different > LOG_LINES)
		log_info("user %u, process %d: and %u more", r->asked.uid, r->asked.pid,
			r->n_different - LOG_LINES);
	return status_of(g, rc);
}

static const struct request_kind kinds[] = {
	{"reload", true, reload_make, reload_begin, reload_finish},
	{"diff", false, diff_make, NULL, diff_finish},
	{"config", false, config_make, NULL, text_finish},
	{"save", false, save_make, NULL, text_finish},
	{"change", true, change_make, NULL, change_finish},
};

// --- what needs no loading thread ---

// Each writes what it did, or why not, to text. Returns whether it was done.
typedef bool at_once_fn(struct gateway *g, const char *filter, char text[RTE_TEL_MAX_STRING_LEN]);

static bool flush(struct gateway *g, const char *filter, char text[RTE_TEL_MAX_STRING_LEN])
{
	return flow_flush_filter(g, filter, text, RTE_TEL_MAX_STRING_LEN);
}

static bool trace(struct gateway *g, const char *filter, char text[RTE_TEL_MAX_STRING_LEN])
{
	return trace_start_filter(g, filter, text, RTE_TEL_MAX_STRING_LEN);
}

static bool trace_end(struct gateway *g, const char *filter, char text[RTE_TEL_MAX_STRING_LEN])
{
	return trace_stop_filter(g, filter, text, RTE_TEL_MAX_STRING_LEN);
}

static const struct {
	const char *name;
	at_once_fn *serve;
} at_once[] = {
	{"flush", flush},
	{"trace", trace},
	{"trace-stop", trace_end},
};

static void refuse(struct gateway *g, const char *name, const char *why, uint64_t now_ms)
{
	if (name != NULL)
		post_request(&g->requests.asked, name, false, g->snapshot->generation);
	control_socket_answer(g->requests.asker, "refused", why, now_ms);
}

static bool may_change(struct gateway *g, const char *name, uint64_t now_ms)
{
	static uint64_t whole_ms; // when REFUSALS_MAX may be logged again

	if (g->requests.asker->access->changes)
		return true;
	if (whole_ms > now_ms + (REFUSALS_MAX - 1) * 1000)
		name = NULL; // who may only look does not fill the log
	else
		whole_ms = RTE_MAX(whole_ms, now_ms) + 1000;
	refuse(g, name,
		"members of show_group may not change anything: ask root, or a member of "
		"control_group\n",
		now_ms);
	return false;
}

static void serve(struct gateway *g, unsigned int i, const char *filter, uint64_t now_ms)
{
	char text[RTE_TEL_MAX_STRING_LEN] = "";
	bool done;

	if (!may_change(g, at_once[i].name, now_ms))
		return;
	done = at_once[i].serve(g, filter, text);
	post_request(&g->requests.asked, at_once[i].name, done, g->snapshot->generation);
	control_socket_answer(g->requests.asker, done ? "ok" : "refused", text, now_ms);
}

static bool is_named(const char *text, const char *name)
{
	size_t len = strcspn(text, " \n");

	return strlen(name) == len && strncmp(name, text, len) == 0;
}

static void serve_at_once(struct gateway *g, const char *text, uint64_t now_ms)
{
	const char *filter = text + strcspn(text, " ");

	filter += *filter == ' ';
	if (is_named(text, "subscribe")) {
		if (!control_socket_subscribe(g->requests.asker, "events 0\n"))
			refuse(g, NULL, "too many subscribers\n", now_ms);
		return;
	}
	for (unsigned int i = 0; i < RTE_DIM(at_once); i++)
		if (is_named(text, at_once[i].name)) {
			serve(g, i, filter, now_ms);
			return;
		}
	refuse(g, NULL, "unknown request\n", now_ms);
}

static const struct request_kind *kind_find(const char *text)
{
	for (size_t i = 0; i < RTE_DIM(kinds); i++)
		if (is_named(text, kinds[i].name))
			return &kinds[i];
	return NULL;
}

static void asked_free(struct control_request *asked)
{
	if (asked->text != NULL)
		explicit_bzero(asked->text, asked->len); // keys
	free(asked->text);
	asked->text = NULL;
}

static void answer(struct gateway *g, const char *status, int rc, uint64_t now_ms)
{
	struct requests *r = &g->requests;
	char done[32];

	snprintf(done, sizeof(done), "generation %u\n", g->snapshot->generation);
	control_socket_answer(r->asker, status, rc == 0 ? done : written(r), now_ms);
}

static bool streams_open(struct requests *r)
{
	r->out = open_memstream(&r->out_text, &r->out_len);
	r->log = open_memstream(&r->log_text, &r->log_len);
	return r->out != NULL && r->log != NULL;
}

// False if not all that was written is in the text.
static bool stream_close(FILE *f)
{
	bool ok = f != NULL && !ferror(f);

	return (f == NULL || fclose(f) == 0) && ok;
}

static void streams_close(struct requests *r)
{
	r->incomplete |= !stream_close(r->out);
	if (!stream_close(r->log) || r->log_text == NULL) {
		free(r->log_text);
		r->log_text = NULL;
	}
	r->incomplete |= r->out_text == NULL;
}

static void streams_free(struct requests *r)
{
	free(r->out_text);
	free(r->log_text);
	r->out_text = r->log_text = NULL;
	r->kind = NULL;
	asked_free(&r->asked);
}

static void finish(struct gateway *g, int rc, uint64_t now_ms)
{
	struct requests *r = &g->requests;
	const char *status;

	streams_close(r);
	status = r->kind->finish(g, rc);
	if (r->asked.text != NULL)
		answer(g, status, rc, now_ms);
	streams_free(r);
}

static void begin(struct gateway *g, const struct request_kind *kind, uint64_t now_ms)
{
	struct requests *r = &g->requests;

	r->kind = kind;
	r->n_different = 0;
	r->refused = true;
	r->incomplete = !streams_open(r);
	if (kind->begin != NULL)
		kind->begin(g);
	if (r->incomplete || configure_load(g, kind->make, g, r->new_keys, r->out) < 0)
		finish(g, -EAGAIN, now_ms);
}

// Who may change something comes first.
static bool take(struct requests *r)
{
	r->asker = &r->socket;
	if (control_socket_take(r->asker, &r->asked))
		return true;
	r->asker = &r->show;
	return control_socket_take(r->asker, &r->asked);
}

static void begin_next(struct gateway *g, uint64_t now_ms)
{
	struct requests *r = &g->requests;
	const struct request_kind *kind;

	r->new_keys = false;
	if (r->hup) {
		r->hup = false;
		begin(g, kind_find("reload"), now_ms);
		return;
	}
	if (!take(r))
		return;
	r->new_keys = strncmp(r->asked.text, NEW_KEYS, strlen(NEW_KEYS)) == 0;
	r->text = r->asked.text + (r->new_keys ? strlen(NEW_KEYS) : 0);
	kind = kind_find(r->text);
	if (kind != NULL && (!kind->changes || may_change(g, kind->name, now_ms))) {
		begin(g, kind, now_ms);
		return;
	}
	if (kind == NULL)
		serve_at_once(g, r->text, now_ms);
	asked_free(&r->asked);
}

int requests_start(struct gateway *g)
{
	static const struct control_access control = {"control", "control_group", true};
	static const struct control_access show = {"show", "show_group", false};
	struct requests *r = &g->requests;
	int rc = control_socket_open(&r->socket, g->conf, &control, g->conf->control_group);

	if (rc == 0 && g->conf->show_group != NULL)
		rc = control_socket_open(&r->show, g->conf, &show, g->conf->show_group);
	return rc == 0 ? access_open(g->conf) : rc; // when all have their modes
}

void requests_tick(struct gateway *g, uint64_t now_ms)
{
	int rc;

	control_socket_tick(&g->requests.socket, now_ms);
	control_socket_tick(&g->requests.show, now_ms);
	if (g->requests.kind != NULL) {
		rc = configure_loaded(g);
		if (rc != -EINPROGRESS)
			finish(g, rc, now_ms);
	} else if (g->retired == NULL) { // workers have passed on from the one before
		begin_next(g, now_ms);
	}
}

void requests_stop(struct gateway *g)
{
	if (g->requests.kind != NULL) {
		streams_close(&g->requests);
		streams_free(&g->requests);
	}
	control_socket_close(&g->requests.socket);
	control_socket_close(&g->requests.show);
}
