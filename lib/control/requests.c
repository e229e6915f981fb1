// SPDX-License-Identifier: BSD-3-Clause
#include "requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "conf_apply.h"
#include "conf_print.h"
#include "configure.h"
#include "event_log.h"
#include "frozen.h"
#include "log.h"
#include "member_changes.h"
#include "request_serve.h"

#define LOG_LINES   20 // about one change
#define NEW_KEYS    "new-keys "
#define AT_ONCE_MAX 64   // requests that are served without waiting in between
#define READ_MS     1000 // from one load for readers to the next

struct request_kind {
	const char *name;
	bool changes;
	request_make *make;
	bool (*begin)(bool new_keys); // NULL: nothing. True: the request is done
	// rc: of load_finish(). Returns the status of the answer.
	const char *(*finish)(int rc);
};

// The request that is served. The loading thread writes the fields after text.
static struct {
	struct request_desk at;
	const char *conf_path;
	const struct request_kind *due; // without a client; NULL: nothing
	struct control_request next;    // is begun when the load is over; text NULL: none
	uint64_t read_ms;               // when something may be loaded again for who may only look

	const struct request_kind *kind; // is loaded; NULL: there is none
	struct control_request asked;    // text NULL: by SIGHUP
	char *text;                      // of that, without the declaration
	bool new_keys;                   // the keys that are not recorded are declared new
	const char *name, *changes;      // of a change; NULL: incomplete
	FILE *out, *log;                 // errors or differences; changes, for the log
	char *out_text, *log_text;
	size_t out_len, log_len;
	unsigned int n_different;
	bool refused;    // (diff) the file is
	bool incomplete; // there was no memory for out
} requests;

// Messages about the request.
static const char *written(void)
{
	return requests.incomplete ? "out of memory for the request\n" : requests.out_text;
}

// --- the log of a change ---

static void change_write(const struct conf_change *c)
{
	const char *noun = c->kind != CONF_KINDS ? conf_kinds[c->kind].noun : "";

	if (++requests.n_different > LOG_LINES)
		return;
	if (c->setting != NULL)
		fprintf(requests.log, "%s \"%s\": %s changed\n", noun, c->name, c->setting);
	else
		fprintf(requests.log, "%s \"%s\" %s\n", noun, c->name, conf_change_word(c));
}

static void changes_end(void)
{
	if (requests.n_different > LOG_LINES)
		fprintf(requests.log, "and %u more\n", requests.n_different - LOG_LINES);
}

// unsaved: only those of changes at run time.
static void changes_write(const struct conf *running, const struct conf *conf, bool unsaved)
{
	struct conf_changes *list = conf_diff(running, conf);

	for (unsigned int i = 0; list != NULL && i < list->n; i++)
		if (!unsaved || list->change[i].unsaved)
			change_write(&list->change[i]);
	if (list == NULL) {
		requests.incomplete = true;
		fputs("out of memory to list the changes\n", requests.log);
	}
	changes_end();
	conf_changes_free(list);
}

// Without memory they are not listed.
static void changes_log(enum log_level level, const char *before)
{
	if (requests.log_text != NULL)
		log_lines(level, before, requests.log_text, requests.log_len);
}

// --- reload ---

static bool may_discard(void)
{
	return requests.asked.text != NULL && strcmp(requests.text, "reload discard") == 0;
}

// Changes at run time that the file lacks are discarded only on demand.
static struct conf *reload_make(const struct conf *running, FILE *errors)
{
	struct conf *conf = conf_load(requests.conf_path, running, errors);

	if (conf != NULL)
		changes_write(running, conf, true);
	if (!requests.incomplete && (requests.n_different == 0 || may_discard()))
		return conf;
	if (conf != NULL && fflush(requests.log) == 0)
		fprintf(errors,
			"a reload would discard %u run-time change%s: write to %s what it lacks "
			"(culvertctl diff, culvertctl save), or culvertctl reload --discard makes "
			"these changes:\n%s",
			requests.n_different, requests.n_different == 1 ? "" : "s",
			requests.conf_path, requests.log_text);
	conf_free(conf);
	return NULL;
}

static bool reload_begin(bool new_keys)
{
	(void)new_keys;
	requests.at.io->reloading();
	log_info("reloading %s", requests.conf_path);
	return false;
}

// Event of a request that changed something, or should have.
static const char *status_of(int rc)
{
	const char *status = rc < 0 ? "refused" : "ok";

	if (requests.asked.text != NULL)
		request_post(&requests.at, &requests.asked, requests.kind->name, rc == 0);
	return status;
}

// why: lines; NULL: it was not refused.
static void refusal_set(const char *why, uint64_t now_ms)
{
	struct reload_refusal r = {.at_ms = why != NULL ? now_ms : 0};

	for (size_t i = 0; why != NULL && strchr("\n", why[i]) == NULL && i + 1 < sizeof(r.why);
		i++)
		r.why[i] = (char)(why[i] >= ' ' && why[i] <= '~' ? why[i] : '?');
	pthread_mutex_lock(&requests.at.c->lock);
	requests.at.c->refusal = r;
	pthread_mutex_unlock(&requests.at.c->lock);
}

static const char *reload_finish(int rc)
{
	refusal_set(rc < 0 ? written() : NULL, requests.at.c->io->now_ms());
	if (rc < 0) {
		log_lines(LOG_LEVEL_ERROR, "", written(), strlen(written()));
		event_post(RELOAD_REFUSED, EVENT_TEXT(written()));
	} else {
		changes_log(LOG_LEVEL_WARN, "run-time change discarded: ");
		member_changes_clear(requests.at.c);
		event_post(RELOADED, EVENT_NUMBER(requests.at.c->snapshot->generation));
	}
	requests.at.io->ready();
	return status_of(rc);
}

// --- diff ---

// Compares two configurations.
static void differences_print(const struct conf *from, const struct conf *to, FILE *out,
	void (*print)(const struct conf_changes *list, FILE *out))
{
	struct conf_changes *list = conf_diff(from, to);

	requests.incomplete |= list == NULL;
	requests.n_different = list != NULL ? list->n : 0;
	if (list != NULL)
		print(list, out);
	conf_changes_free(list);
}

// The configuration of the file; NULL: it is refused.
static struct conf *file_load(FILE *out)
{
	struct conf *file = conf_load(requests.conf_path, NULL, out);

	requests.refused = file == NULL;
	return file;
}

static struct conf *diff_make(const struct conf *running, FILE *out)
{
	struct conf *file = file_load(out);

	if (file != NULL)
		differences_print(running, file, out, conf_print_diff);
	conf_free(file);
	return NULL;
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
	struct conf *file = file_load(out);

	if (file != NULL)
		differences_print(file, running, out, conf_print_changes);
	conf_free(file);
	return NULL;
}

static const char *text_finish(int rc)
{
	(void)rc;
	return requests.refused || requests.incomplete ? "refused" : "text";
}

// --- change ---

static size_t changes_len(void)
{
	return requests.asked.len - (size_t)(requests.changes - requests.asked.text);
}

// Without another configuration, if that is possible.
static bool change_begin(bool new_keys)
{
	struct control *c = requests.at.c;
	struct conf_edit *e;

	if (requests.incomplete)
		return false;
	requests.changes = request_changes(requests.text, &requests.name, requests.out);
	if (requests.changes == NULL)
		return false;
	e = change_in_place(c, requests.name, requests.changes, changes_len(), new_keys,
		requests.at.io->sa_begin, requests.at.arg);
	if (e == NULL)
		return false;
	for (unsigned int i = 0; i < e->n; i++)
		change_write(&e->change[i]);
	changes_end();
	configure_warn_sas(c->conf, c->conf->n_sas - e->n_sas);
	conf_edit_free(e);
	return true;
}

static struct conf *change_make(const struct conf *running, FILE *errors)
{
	struct conf *conf;

	if (requests.changes == NULL)
		return NULL;
	conf = conf_change(running, requests.name, requests.changes, changes_len(), errors);
	if (conf != NULL)
		changes_write(running, conf, false);
	return conf;
}

static const char *change_finish(int rc)
{
	char who[64] = "the other gateway of the pair: ";

	if (!member_has_asked(&requests.asked))
		snprintf(who, sizeof(who), "user %u, process %d: ", requests.asked.uid,
			requests.asked.pid);
	if (rc == 0) {
		changes_log(LOG_LEVEL_INFO, who);
		member_changes_note(requests.at.c, &requests.asked, requests.new_keys,
			requests.name, requests.changes);
	}
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
	{"change", true, change_make, change_begin, change_finish},
};

static const struct request_kind *kind_find(const char *text)
{
	for (size_t i = 0; i < RTE_DIM(kinds); i++)
		if (request_is_named(text, kinds[i].name))
			return &kinds[i];
	return NULL;
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

	requests.at.c->loading = false;
	streams_close();
	status = requests.kind->finish(rc);
	if (requests.asked.text != NULL)
		request_answer(&requests.at, &requests.asked, status, rc == 0, written(), now_ms);
	streams_free();
}

// Whether something is loaded for who may only look, which others do not wait for.
static bool is_reading(void)
{
	return requests.kind != NULL && requests.asked.text != NULL && !requests.asked.may_change;
}

static void begin(const struct request_kind *kind, bool new_keys, uint64_t now_ms)
{
	requests.kind = kind;
	requests.new_keys = new_keys;
	requests.n_different = 0;
	requests.refused = true;
	requests.incomplete = !streams_open();
	if (is_reading())
		requests.read_ms = now_ms + READ_MS;
	if (kind->begin != NULL && kind->begin(new_keys))
		finish(0, now_ms);
	else if (requests.incomplete || requests.at.io->load_begin(requests.at.arg, kind->make,
						new_keys, requests.out) < 0)
		finish(-EAGAIN, now_ms);
	else
		requests.at.c->loading = kind->changes;
}

// Returns whether a further request may be served at once.
static bool serve_next(struct control_request *asked, uint64_t now_ms)
{
	bool new_keys = strncmp(asked->text, NEW_KEYS, strlen(NEW_KEYS)) == 0;
	char *text = asked->text + (new_keys ? strlen(NEW_KEYS) : 0);
	const struct request_kind *kind = kind_find(text);

	if (kind != NULL &&
		(!kind->changes || request_may_change(&requests.at, asked, kind->name, now_ms))) {
		if (requests.kind != NULL) {
			requests.next = *asked;
			return false;
		}
		requests.asked = *asked;
		requests.text = text;
		begin(kind, new_keys, now_ms);
		return is_reading();
	}
	if (kind == NULL)
		request_serve(&requests.at, asked, text, now_ms);
	control_request_free(asked);
	return true;
}

static bool is_at_once(const char *text)
{
	return request_at_once(&requests.at, text) != NULL;
}

// While something is loaded, the requests that need no loading, such as those for roles of groups;
// and, if that is for who may only look, others up to the first that waits for the end.
static bool take(struct control_request *asked, uint64_t now_ms)
{
	bool loads = requests.kind != NULL;
	bool any = !loads || (is_reading() && requests.due == NULL && requests.next.text == NULL);

	return requests.at.io->take(requests.at.arg, asked, !loads && now_ms >= requests.read_ms,
		any ? NULL : is_at_once);
}

// Returns whether a request was served to its end, or others do not wait for it.
static bool begin_next(uint64_t now_ms)
{
	const struct request_kind *due = requests.due;
	struct control_request asked = {0};

	if (requests.kind == NULL && due != NULL) {
		requests.due = NULL;
		begin(due, false, now_ms);
		return false;
	}
	if (requests.kind == NULL) {
		asked = requests.next;
		requests.next.text = NULL;
	}
	if (asked.text == NULL && !take(&asked, now_ms))
		return false;
	return serve_next(&asked, now_ms);
}

void requests_start(
	struct control *c, const char *conf_path, const struct request_io *io, void *arg)
{
	requests.conf_path = conf_path;
	requests.at = (struct request_desk){c, io, arg};
}

bool requests_tick(bool reload, uint64_t now_ms)
{
	int rc;

	if (reload)
		requests.due = kind_find("reload"); // takes over the guests as well
	if (requests.kind != NULL) {
		rc = requests.at.io->load_finish(requests.at.arg);
		if (rc != -EINPROGRESS)
			finish(rc, now_ms);
	}
	// The grace period of the one before is over.
	if (requests.at.c->retired == NULL && requests.at.c->sas_leaving == 0)
		for (unsigned int i = 0; i < AT_ONCE_MAX && begin_next(now_ms); i++)
			frozen_renew(requests.at.c);
	return requests.kind != NULL || requests.due != NULL;
}

void requests_guests(void)
{
	if (requests.due == NULL)
		requests.due = &guests_kind;
}

void requests_stop(void)
{
	control_request_free(&requests.next);
	if (requests.kind != NULL) {
		streams_close();
		streams_free();
	}
}
