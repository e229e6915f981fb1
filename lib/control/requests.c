// SPDX-License-Identifier: BSD-3-Clause
#include "requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_change.h"
#include "conf_diff.h"
#include "conf_print.h"
#include "event_log.h"
#include "ike.h"
#include "log.h"

#define LOG_LINES    20 // about one change
#define NEW_KEYS     "new-keys "
#define AT_ONCE_MAX  64 // requests that are served without waiting in between
#define REFUSALS_MAX 10 // at once in the log, and one more each second: of those who may only look

struct request_kind {
	const char *name;
	bool changes;
	request_make *make;
	void (*begin)(void); // NULL: nothing
	// rc: of load_finish(). Returns the status of the answer.
	const char *(*finish)(int rc);
};

// The request that is served. The loading thread writes what is behind text.
static struct {
	struct control *c;
	const char *conf_path;
	const struct request_io *io;
	void *arg;
	const struct request_kind *due; // what nobody asked for by a socket; NULL: nothing

	const struct request_kind *kind; // NULL: there is none
	struct control_request asked;    // text NULL: by SIGHUP
	char *text;                      // of that, without the declaration
	bool new_keys;                   // there was one
	FILE *out, *log;                 // errors or differences; changes, for the log
	char *out_text, *log_text;
	size_t out_len, log_len;
	unsigned int n_different;
	bool refused;    // (diff) the file is
	bool incomplete; // there was no memory for out
} requests;

// What has been written about the request.
static const char *written(void)
{
	return requests.incomplete ? "out of memory for the request\n" : requests.out_text;
}

// --- the log of a change ---

static void change_write(void *arg, const struct conf_difference *d)
{
	(void)arg;
	if (++requests.n_different > LOG_LINES)
		return;
	if (d->kind == CONF_CHANGED)
		fprintf(requests.log, "%s \"%s\": %s changed\n", d->noun, d->name, d->setting);
	else
		fprintf(requests.log, "%s \"%s\" %s\n", d->noun, d->name,
			conf_difference_names[d->kind]);
}

static void changes_write(const struct conf *running, const struct conf *conf, conf_diff_fn *write)
{
	if (conf_diff(running, conf, write, NULL) < 0) {
		requests.incomplete = true;
		fputs("out of memory to list the changes\n", requests.log);
	}
	if (requests.n_different > LOG_LINES)
		fprintf(requests.log, "and %u more\n", requests.n_different - LOG_LINES);
}

// Without memory they are not listed.
static void changes_log(enum log_level level, const char *before)
{
	if (requests.log_text != NULL)
		log_lines(level, before, requests.log_text, requests.log_len);
}

// --- reload ---

static void discarded_write(void *arg, const struct conf_difference *d)
{
	if (d->unsaved)
		change_write(arg, d);
}

static bool may_discard(void)
{
	return requests.asked.text != NULL && strcmp(requests.text, "reload discard") == 0;
}

// Changes at run time that the file lacks are discarded only on demand.
static struct conf *reload_make(const struct conf *running, FILE *errors)
{
	struct conf *conf = conf_load(requests.conf_path, running, errors);

	if (conf != NULL)
		changes_write(running, conf, discarded_write);
	if (!requests.incomplete && (requests.n_different == 0 || may_discard()))
		return conf;
	if (conf != NULL && fflush(requests.log) == 0)
		fprintf(errors,
			"a reload would discard %u run-time change%s: write to %s what it lacks "
			"(culvertctl diff, culvertctl save), or reload with --discard:\n%s",
			requests.n_different, requests.n_different == 1 ? "" : "s",
			requests.conf_path, requests.log_text);
	conf_free(conf);
	return NULL;
}

static void reload_begin(void)
{
	requests.io->reloading();
	log_info("reloading %s", requests.conf_path);
}

static void post_request(
	const struct control_request *asked, const char *name, bool done, uint32_t generation)
{
	const struct event_value values[EVENT_REQUEST_DONE_FIELDS] = {EVENT_TEXT(name),
		EVENT_NUMBER(generation), EVENT_NUMBER(asked->uid), EVENT_NUMBER(asked->pid)};

	event_log_add(done ? EVENT_REQUEST_DONE : EVENT_REQUEST_REFUSED, values);
}

// Of what changes something, or was to.
static const char *status_of(int rc)
{
	const char *status = rc < 0 ? "refused" : "ok";

	if (requests.asked.text != NULL)
		post_request(&requests.asked, requests.kind->name, rc == 0,
			requests.c->snapshot->generation);
	return status;
}

static const char *reload_finish(int rc)
{
	if (rc < 0) {
		log_lines(LOG_LEVEL_ERROR, "", written(), strlen(written()));
		event_post(RELOAD_REFUSED, EVENT_TEXT(written()));
	} else {
		changes_log(LOG_LEVEL_WARN, "run-time change discarded: ");
		event_post(RELOADED, EVENT_NUMBER(requests.c->snapshot->generation));
	}
	requests.io->ready();
	return status_of(rc);
}

// --- diff ---

// n: of those that were written, or -ENOMEM.
static void differences_count(int n)
{
	requests.incomplete |= n < 0;
	requests.n_different = n > 0 ? (unsigned int)n : 0;
}

// Compares the configuration that runs with that of the file, if this is not refused.
static struct conf *file_compare(const struct conf *running, FILE *out,
	int (*print)(const struct conf *running, const struct conf *file, FILE *out))
{
	struct conf *file = conf_load(requests.conf_path, NULL, out);

	requests.refused = file == NULL;
	if (file != NULL)
		differences_count(print(running, file, out));
	conf_free(file);
	return NULL;
}

static struct conf *diff_make(const struct conf *running, FILE *out)
{
	return file_compare(running, out, conf_print_diff);
}

static const char *diff_finish(int rc)
{
	(void)rc;
	if (requests.refused || requests.incomplete)
		return "refused";
	return requests.n_different > 0 ? "different" : "same";
}

// --- config and save ---

static struct conf *config_make(const struct conf *running, FILE *out)
{
	conf_print(running, out);
	requests.refused = false;
	return NULL;
}

static struct conf *save_make(const struct conf *running, FILE *out)
{
	return file_compare(running, out, conf_print_changes);
}

static const char *text_finish(int rc)
{
	(void)rc;
	return requests.refused || requests.incomplete ? "refused" : "text";
}

// --- change ---

static struct conf *change_make(const struct conf *running, FILE *errors)
{
	char *line_end = strchr(requests.text, '\n');
	char *name = strchr(requests.text, ' ');
	struct conf *conf;

	if (line_end == NULL || name == NULL || name > line_end) {
		fputs("the request is incomplete\n", errors);
		return NULL;
	}
	*line_end = '\0';
	conf = conf_change(running, name + 1, line_end + 1,
		requests.asked.len - (size_t)(line_end + 1 - requests.asked.text), errors);
	if (conf != NULL)
		changes_write(running, conf, change_write);
	return conf;
}

static const char *change_finish(int rc)
{
	char who[64];

	snprintf(who, sizeof(who), "user %u, process %d: ", requests.asked.uid, requests.asked.pid);
	if (rc == 0)
		changes_log(LOG_LEVEL_INFO, who);
	return status_of(rc);
}

// --- addresses of hosts ---

static const char *guests_finish(int rc)
{
	if (rc < 0)
		log_lines(LOG_LEVEL_ERROR, "", written(), strlen(written()));
	return NULL; // nobody has asked
}

static const struct request_kind guests_kind = {"guests", true, conf_copy, NULL, guests_finish};

static const struct request_kind kinds[] = {
	{"reload", true, reload_make, reload_begin, reload_finish},
	{"diff", false, diff_make, NULL, diff_finish},
	{"config", false, config_make, NULL, text_finish},
	{"save", false, save_make, NULL, text_finish},
	{"change", true, change_make, NULL, change_finish},
};

// --- what needs no loading thread ---

static void refuse(const char *name, const char *why, uint64_t now_ms)
{
	if (name != NULL)
		post_request(&requests.asked, name, false, requests.c->snapshot->generation);
	requests.io->answer(requests.arg, "refused", why, now_ms);
}

static bool may_change(const char *name, uint64_t now_ms)
{
	static uint64_t whole_ms; // when REFUSALS_MAX may be logged again

	if (requests.asked.may_change)
		return true;
	if (whole_ms > now_ms + (REFUSALS_MAX - 1) * 1000)
		name = NULL; // who may only look does not fill the log
	else
		whole_ms = RTE_MAX(whole_ms, now_ms) + 1000;
	refuse(name,
		"members of show_group may not change anything: ask root, or a member of "
		"control_group\n",
		now_ms);
	return false;
}

static void serve(const struct request_at_once *request, const char *filter, uint64_t now_ms)
{
	char text[REQUEST_TEXT_MAX] = "";
	bool done;

	if (!may_change(request->name, now_ms))
		return;
	done = request->serve(requests.arg, filter, text, sizeof(text));
	post_request(&requests.asked, request->name, done, requests.c->snapshot->generation);
	requests.io->answer(requests.arg, done ? "ok" : "refused", text, now_ms);
}

static bool is_named(const char *text, const char *name)
{
	size_t len = strcspn(text, " \n");

	return strlen(name) == len && strncmp(name, text, len) == 0;
}

static void serve_at_once(const char *text, uint64_t now_ms)
{
	const char *filter = text + strcspn(text, " ");

	filter += *filter == ' ';
	if (is_named(text, "subscribe")) {
		if (!requests.io->subscribe(requests.arg, "events 0\n"))
			refuse(NULL, "too many subscribers\n", now_ms);
		return;
	}
	for (const struct request_at_once *r = requests.io->at_once; r->name != NULL; r++)
		if (is_named(text, r->name)) {
			serve(r, filter, now_ms);
			return;
		}
	refuse(NULL, "unknown request\n", now_ms);
}

static const struct request_kind *kind_find(const char *text)
{
	for (size_t i = 0; i < RTE_DIM(kinds); i++)
		if (is_named(text, kinds[i].name))
			return &kinds[i];
	return NULL;
}

void control_request_free(struct control_request *r)
{
	if (r->text != NULL)
		explicit_bzero(r->text, r->len); // keys
	free(r->text);
	r->text = NULL;
}

static void answer(const char *status, int rc, uint64_t now_ms)
{
	char done[32];

	snprintf(done, sizeof(done), "generation %u\n", requests.c->snapshot->generation);
	requests.io->answer(requests.arg, status, rc == 0 ? done : written(), now_ms);
}

static bool streams_open(void)
{
	requests.out = open_memstream(&requests.out_text, &requests.out_len);
	requests.log = open_memstream(&requests.log_text, &requests.log_len);
	return requests.out != NULL && requests.log != NULL;
}

// False if not all that was written is in the text.
static bool stream_close(FILE *f)
{
	bool ok = f != NULL && !ferror(f);

	return (f == NULL || fclose(f) == 0) && ok;
}

static void streams_close(void)
{
	requests.incomplete |= !stream_close(requests.out);
	if (!stream_close(requests.log) || requests.log_text == NULL) {
		free(requests.log_text);
		requests.log_text = NULL;
	}
	requests.incomplete |= requests.out_text == NULL;
}

static void streams_free(void)
{
	free(requests.out_text);
	free(requests.log_text);
	requests.out_text = requests.log_text = NULL;
	requests.kind = NULL;
	control_request_free(&requests.asked);
}

static void finish(int rc, uint64_t now_ms)
{
	const char *status;

	requests.c->loading = false;
	streams_close();
	status = requests.kind->finish(rc);
	if (requests.asked.text != NULL)
		answer(status, rc, now_ms);
	streams_free();
}

static void begin(const struct request_kind *kind, uint64_t now_ms)
{
	requests.kind = kind;
	requests.n_different = 0;
	requests.refused = true;
	requests.incomplete = !streams_open();
	if (kind->begin != NULL)
		kind->begin();
	if (requests.incomplete || requests.io->load_begin(requests.arg, kind->make,
					   requests.new_keys, requests.out) < 0)
		finish(-EAGAIN, now_ms);
	else
		requests.c->loading = true;
}

// The first line of the request is "ike NAME", and its changes follow.
static void serve_ike(uint64_t now_ms)
{
	char *line_end = strchr(requests.text, '\n'), *name = strchr(requests.text, ' ');
	bool done = false;

	if (!may_change("ike", now_ms))
		return;
	requests.incomplete = !streams_open();
	if (!requests.incomplete && line_end != NULL && name != NULL && name < line_end) {
		*line_end = '\0';
		done = ike_request(requests.c, name + 1, line_end + 1,
			requests.asked.len - (size_t)(line_end + 1 - requests.asked.text),
			requests.out);
	} else if (!requests.incomplete) {
		fputs("the request is incomplete\n", requests.out);
	}
	streams_close();
	if (!done)
		post_request(&requests.asked, "ike", false, requests.c->snapshot->generation);
	answer(done ? "ok" : "refused", done ? 0 : -EINVAL, now_ms);
	streams_free();
}

// Returns whether a request was served to its end.
static bool begin_next(uint64_t now_ms)
{
	const struct request_kind *kind = requests.due;

	requests.new_keys = false;
	if (kind != NULL) {
		requests.due = NULL;
		begin(kind, now_ms);
		return false;
	}
	if (!requests.io->take(requests.arg, &requests.asked))
		return false;
	requests.new_keys = strncmp(requests.asked.text, NEW_KEYS, strlen(NEW_KEYS)) == 0;
	requests.text = requests.asked.text + (requests.new_keys ? strlen(NEW_KEYS) : 0);
	kind = kind_find(requests.text);
	if (kind != NULL && (!kind->changes || may_change(kind->name, now_ms))) {
		begin(kind, now_ms);
		return false;
	}
	if (is_named(requests.text, "ike"))
		serve_ike(now_ms);
	else if (kind == NULL)
		serve_at_once(requests.text, now_ms);
	control_request_free(&requests.asked);
	return true;
}

void requests_start(
	struct control *c, const char *conf_path, const struct request_io *io, void *arg)
{
	requests.c = c;
	requests.conf_path = conf_path;
	requests.io = io;
	requests.arg = arg;
}

bool requests_tick(bool reload, uint64_t now_ms)
{
	int rc;

	if (reload)
		requests.due = kind_find("reload"); // takes over the guests as well
	if (requests.kind != NULL) {
		rc = requests.io->load_finish(requests.arg);
		if (rc != -EINPROGRESS)
			finish(rc, now_ms);
	} else if (requests.c->retired == NULL) { // the grace period of the one before is over
		for (unsigned int i = 0; i < AT_ONCE_MAX && begin_next(now_ms); i++)
			;
	}
	return requests.kind != NULL || requests.due != NULL;
}

void requests_guests(void)
{
	if (requests.due == NULL)
		requests.due = &guests_kind;
}

void requests_stop(void)
{
	if (requests.kind != NULL) {
		streams_close();
		streams_free();
	}
}
