// SPDX-License-Identifier: BSD-3-Clause
#include "request_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_apply.h"
#include "log.h"
#include "request_kind.h"

#define LOG_LINES 20 // about one change

static struct loading loading;

const char *loading_written(const struct loading *l)
{
	return l->incomplete ? "out of memory for the request\n" : l->out_text;
}

// Event of a request that changed something, or should have.
const char *loading_status(struct loading *l, int rc)
{
	if (l->asked.text != NULL)
		request_post(l->at, &l->asked, l->kind->name, rc == 0);
	return rc < 0 ? "refused" : "ok";
}

// --- the log of a change ---

void loading_note(struct loading *l, const struct conf_change *c)
{
	char text[REVISION_SUMMARY_MAX];

	if (++l->n_different > LOG_LINES)
		return;
	conf_change_describe(text, sizeof(text), c);
	fprintf(l->log, "%s\n", text);
}

void loading_notes_end(struct loading *l)
{
	if (l->n_different > LOG_LINES)
		fprintf(l->log, "and %u more\n", l->n_different - LOG_LINES);
}

void loading_changes(struct loading *l, const struct conf_changes *list, bool unsaved)
{
	for (unsigned int i = 0; list != NULL && i < list->n; i++)
		if (!unsaved || list->change[i].unsaved)
			loading_note(l, &list->change[i]);
	if (list == NULL) {
		l->incomplete = true;
		fputs("out of memory to list the changes\n", l->log);
	} else {
		revisions_describe(l->at->c, &l->made, list);
	}
	loading_notes_end(l);
}

void loading_compare(
	struct loading *l, const struct conf *running, const struct conf *conf, bool unsaved)
{
	struct conf_changes *list = conf_diff(running, conf);

	loading_changes(l, list, unsaved);
	conf_changes_free(list);
}

void loading_log(const struct loading *l, enum log_level level, const char *before)
{
	if (l->log_text != NULL)
		log_lines(level, before, l->log_text, l->log_len);
}

void loading_print(struct loading *l, const struct conf *from, const struct conf *to, FILE *out,
	void (*print)(const struct conf_changes *list, FILE *out))
{
	struct conf_changes *list = conf_diff(from, to);

	l->incomplete |= list == NULL;
	l->n_different = list != NULL ? list->n : 0;
	if (list != NULL)
		print(list, out);
	conf_changes_free(list);
}

// --- addresses of hosts ---

static struct conf *guests_make(struct loading *l, const struct conf *running, FILE *errors)
{
	(void)l;
	return conf_copy(running, errors);
}

static const char *guests_finish(struct loading *l, int rc)
{
	if (rc < 0)
		log_lines(LOG_LEVEL_ERROR, "", loading_written(l), strlen(loading_written(l)));
	return NULL; // nobody has asked
}

const struct request_kind request_load_guests = {
	.name = "guests", .changes = true, .make = guests_make, .finish = guests_finish};

// --- kinds ---

const struct request_kind *request_load_find(const char *text)
{
	static const struct request_kind *const kinds[] = {&request_reload, &request_diff,
		&request_config, &request_save, &request_rewrite, &request_change, &request_confirm,
		&request_rollback};

	for (size_t i = 0; i < RTE_DIM(kinds); i++)
		if (request_is_named(text, kinds[i]->name))
			return kinds[i];
	return NULL;
}

bool request_load_changes(const struct request_kind *kind)
{
	return kind->changes;
}

const char *request_load_name(const struct request_kind *kind)
{
	return kind->name;
}

bool request_load_is_busy(void)
{
	return loading.kind != NULL;
}

bool request_load_reads(void)
{
	return loading.asked.text != NULL && !loading.asked.may_change;
}

const struct request_kind *request_load_due(uint64_t now_ms)
{
	struct control *c = loading.at->c;

	if (revisions_must_return(c, now_ms))
		return &request_return;
	return revisions_must_write(c, now_ms) ? &request_history : NULL;
}

// --- one request ---

static bool streams_open(struct loading *l)
{
	l->out = open_memstream(&l->out_text, &l->out_len);
	l->log = open_memstream(&l->log_text, &l->log_len);
	return l->out != NULL && l->log != NULL;
}

// False if not all that was written is in the text.
static bool stream_close(FILE *f)
{
	bool ok = f != NULL && !ferror(f);

	return (f == NULL || fclose(f) == 0) && ok;
}

static void streams_close(struct loading *l)
{
	l->incomplete |= !stream_close(l->out);
	if (!stream_close(l->log) || l->log_text == NULL) {
		free(l->log_text);
		l->log_text = NULL;
	}
	l->incomplete |= l->out_text == NULL;
}

static void streams_free(struct loading *l)
{
	free(l->out_text);
	free(l->log_text);
	l->out_text = l->log_text = NULL;
	l->kind = NULL;
	control_request_free(&l->asked);
}

static void finish(struct loading *l, int rc, uint64_t now_ms)
{
	const char *status;

	l->at->c->loading = false;
	streams_close(l);
	revisions_finish(l->at->c, &l->made, rc == 0, now_ms);
	status = l->kind->finish(l, rc);
	if (l->asked.text != NULL)
		request_answer(l->at, &l->asked, status, rc == 0, loading_written(l), now_ms);
	streams_free(l);
}

// Changes in place before this request come before it in the history.
static struct conf *make(const struct conf *running, FILE *errors)
{
	struct loading *l = &loading;
	struct conf *conf;

	if (l->kind->source != NULL)
		revisions_write(l->at->c, running);
	conf = l->kind->make(l, running, errors);
	if (conf == NULL || l->kind->source == NULL ||
		revisions_prepare(l->at->c, &l->made, conf, errors))
		return conf;
	conf_free(conf);
	return NULL;
}

// The revision that the request makes, with its user and its source.
static void draft(struct loading *l)
{
	const struct request_kind *kind = l->kind;

	l->made = (struct revision_draft){.confirm_s = l->terms.confirm_s,
		.of_file = kind == &request_reload,
		.ends_wait = kind->ends_wait,
		.conf_path = l->conf_path};
	if (kind->source != NULL)
		revisions_draft(l->at->c, &l->made, kind->source, l->asked.uid);
}

// Whether another change waits for its confirmation: this one would be lost if it returned.
static bool must_wait(const struct loading *l, uint64_t now_ms)
{
	const struct request_kind *kind = l->kind;
	bool waits = kind->waits ||
		     (kind->source != NULL && (!kind->ends_wait || l->terms.confirm_s > 0));

	return waits && revisions_wait(l->at->c, now_ms, l->out);
}

void request_load_begin(const struct request_kind *kind, struct control_request *asked,
	const struct request_terms *terms, uint64_t now_ms)
{
	struct loading *l = &loading;

	l->kind = kind;
	l->asked = *asked;
	l->terms = *terms;
	l->n_different = 0;
	l->refused = true;
	l->incomplete = !streams_open(l);
	draft(l);
	if (!l->incomplete && must_wait(l, now_ms))
		finish(l, -EBUSY, now_ms);
	else if (kind->begin != NULL && kind->begin(l))
		finish(l, 0, now_ms);
	else if (l->incomplete || l->at->io->load_begin(l->at->arg, make, terms->new_keys,
					  kind->ends_wait, l->out) < 0)
		finish(l, -EAGAIN, now_ms);
	else
		l->at->c->loading = kind->changes;
}

void request_load_continue(uint64_t now_ms)
{
	int rc;

	if (loading.kind == NULL)
		return;
	rc = loading.at->io->load_finish(loading.at->arg);
	if (rc != -EINPROGRESS)
		finish(&loading, rc, now_ms);
}

void request_load_start(const struct request_desk *at, const char *conf_path)
{
	loading = (struct loading){.at = at, .conf_path = conf_path};
}

void request_load_stop(void)
{
	struct loading *l = &loading;

	if (l->at == NULL)
		return;
	if (l->kind != NULL) {
		streams_close(l);
		revisions_finish(l->at->c, &l->made, false, 0);
		streams_free(l);
	}
	revisions_write(l->at->c, l->at->c->conf);
	revisions_stop(l->at->c);
}
