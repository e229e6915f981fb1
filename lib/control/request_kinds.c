// SPDX-License-Identifier: BSD-3-Clause
// Requests about the configuration file, and changes of the running configuration.
#include <errno.h>
#include <string.h>

#include "change.h"
#include "conf_apply.h"
#include "conf_print.h"
#include "conf_rewrite.h"
#include "configure.h"
#include "event_log.h"
#include "log.h"
#include "member_changes.h"
#include "request_kind.h"

// --- reload ---

static bool may_discard(const struct loading *l)
{
	return l->asked.text != NULL && strcmp(l->terms.text, "reload discard") == 0;
}

// Changes at run time that the file lacks are discarded only on demand.
static struct conf *reload_make(struct loading *l, const struct conf *running, FILE *errors)
{
	struct conf *conf = conf_load(l->conf_path, running, errors);

	if (conf != NULL)
		loading_compare(l, running, conf, true);
	l->made.discards = l->n_different > 0;
	if (!l->incomplete && (l->n_different == 0 || may_discard(l)))
		return conf;
	if (conf != NULL && fflush(l->log) == 0)
		fprintf(errors,
			"a reload would discard %u run-time change%s: write to %s what it lacks "
			"(culvertctl diff, culvertctl save --write), or culvertctl reload "
			"--discard makes "
			"these changes:\n%s",
			l->n_different, l->n_different == 1 ? "" : "s", l->conf_path, l->log_text);
	conf_free(conf);
	return NULL;
}

static bool reload_begin(struct loading *l)
{
	l->at->io->reloading();
	log_info("reloading %s", l->conf_path);
	return false;
}

// The first line of the text, or its first words and "...".
static void first_line(char *line, size_t size, const char *text)
{
	static const char cut[] = "...";
	size_t n = strcspn(text, "\n");

	if (n >= size) {
		n = size - sizeof(cut);
		while (n > 0 && text[n - 1] != ' ')
			n--;
	}
	for (size_t i = 0; i < n; i++)
		line[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
	strcpy(line + n, strchr("\n", text[n]) != NULL ? "" : cut);
}

// why: lines; NULL: it was not refused.
static void refusal_set(struct control *c, const char *why)
{
	struct reload_refusal r = {.at_ms = why != NULL ? c->io->now_ms() : 0};

	if (why != NULL)
		first_line(r.why, sizeof(r.why), why);
	pthread_mutex_lock(&c->lock);
	c->refusal = r;
	pthread_mutex_unlock(&c->lock);
}

static const char *reload_finish(struct loading *l, int rc)
{
	struct control *c = l->at->c;
	const char *written = loading_written(l);

	if (rc != -EBUSY) // there is nothing wrong with the file
		refusal_set(c, rc < 0 ? written : NULL);
	if (rc < 0) {
		log_lines(LOG_LEVEL_ERROR, "", written, strlen(written));
		event_post(RELOAD_REFUSED, EVENT_TEXT(written));
	} else {
		loading_log(l, LOG_LEVEL_WARN, "run-time change discarded: ");
		revisions_share_file(c, &l->made);
		event_post(RELOADED, EVENT_NUMBER(c->snapshot->generation));
	}
	l->at->io->ready();
	return loading_status(l, rc);
}

const struct request_kind request_reload = {.name = "reload",
	.changes = true,
	.source = "reload",
	.make = reload_make,
	.begin = reload_begin,
	.finish = reload_finish};

// --- diff ---

// The configuration of the file; NULL: it is refused.
static struct conf *file_load(struct loading *l, FILE *out)
{
	struct conf *file = conf_load(l->conf_path, NULL, out);

	l->refused = file == NULL;
	return file;
}

static struct conf *diff_make(struct loading *l, const struct conf *running, FILE *out)
{
	struct conf *file;

	if (strcmp(l->terms.text, "diff") != 0) {
		request_diff_revisions(l, running, out);
		return NULL;
	}
	file = file_load(l, out);
	if (file != NULL)
		loading_print(l, running, file, out, conf_print_diff);
	conf_free(file);
	return NULL;
}

static const char *diff_finish(struct loading *l, int rc)
{
	(void)rc;
	if (l->refused || l->incomplete)
		return "refused";
	return l->n_different > 0 ? "different" : "same";
}

const struct request_kind request_diff = {.name = "diff", .make = diff_make, .finish = diff_finish};

// --- config and save ---

static struct conf *config_make(struct loading *l, const struct conf *running, FILE *out)
{
	conf_print(running, out);
	l->refused = false;
	return NULL;
}

static struct conf *save_make(struct loading *l, const struct conf *running, FILE *out)
{
	struct conf *file = file_load(l, out);

	if (file != NULL)
		loading_print(l, file, running, out, conf_print_changes);
	conf_free(file);
	return NULL;
}

static const char *text_finish(struct loading *l, int rc)
{
	(void)rc;
	return l->refused || l->incomplete ? "refused" : "text";
}

const struct request_kind request_config = {
	.name = "config", .make = config_make, .finish = text_finish};
const struct request_kind request_save = {.name = "save", .make = save_make, .finish = text_finish};

static struct conf *rewrite_make(struct loading *l, const struct conf *running, FILE *out)
{
	l->refused = !conf_rewrite(running, l->conf_path, out, out);
	return NULL;
}

const struct request_kind request_rewrite = {.name = "rewrite",
	.changes = true,
	.waits = true,
	.make = rewrite_make,
	.finish = text_finish};

// --- change ---

static size_t changes_len(const struct loading *l)
{
	return l->asked.len - (size_t)(l->changes - l->asked.text);
}

// Without another configuration, if that is possible, and if it need not return by itself.
static bool change_begin(struct loading *l)
{
	struct control *c = l->at->c;
	struct conf_edit *e = NULL;

	if (l->incomplete)
		return false;
	l->changes = request_changes(l->terms.text, &l->name, l->out);
	if (l->changes != NULL && revisions_may_join(c, &l->made))
		e = change_in_place(c, l->name, l->changes, changes_len(l), l->terms.new_keys,
			l->at->io->sa_begin, l->at->arg);
	if (e == NULL)
		return false;
	for (unsigned int i = 0; i < e->n; i++)
		loading_note(l, &e->change[i]);
	loading_notes_end(l);
	revisions_join(c, &l->made, &e->change[0], e->n);
	configure_warn_sas(c->conf, c->conf->n_sas - e->n_sas);
	conf_edit_free(e);
	return true;
}

static struct conf *change_make(struct loading *l, const struct conf *running, FILE *errors)
{
	struct conf *conf;

	if (l->changes == NULL)
		return NULL;
	conf = conf_change(running, l->name, l->changes, changes_len(l), errors);
	if (conf != NULL)
		loading_compare(l, running, conf, false);
	return conf;
}

static const char *change_finish(struct loading *l, int rc)
{
	char who[64] = "the other gateway of the pair: ";

	if (!member_has_asked(&l->asked))
		snprintf(who, sizeof(who), "user %u, process %d: ", l->asked.uid, l->asked.pid);
	if (rc == 0) {
		loading_log(l, LOG_LEVEL_INFO, who);
		revisions_share(
			l->at->c, &l->made, &l->asked, l->terms.new_keys, l->name, l->changes);
	}
	return loading_status(l, rc);
}

const struct request_kind request_change = {.name = "change",
	.changes = true,
	.source = "change",
	.make = change_make,
	.begin = change_begin,
	.finish = change_finish};
