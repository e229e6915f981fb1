// SPDX-License-Identifier: BSD-3-Clause
#include "revisions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf_revision.h"
#include "event_log.h"
#include "log.h"
#include "wall_clock.h"

#define BETWEEN_MS 1000  // from one write of changes in place to the next, at least
#define SHARE      1000  // and that many times as long as the last one took
#define AGAIN_MS   10000 // to the next try of one that failed

static struct history *history_of(struct control *c)
{
	return &c->revisions.history;
}

static uint32_t last_of(const struct history *h)
{
	return h->n > 0 ? h->revision[h->n - 1].number : 0;
}

// --- the text of a revision ---

struct text {
	char *octets;
	size_t len, body; // where the configuration begins
};

static bool text_make(struct text *t, const struct revision *r, const struct conf *conf)
{
	FILE *f = open_memstream(&t->octets, &t->len);

	t->octets = NULL;
	if (f == NULL)
		return false;
	history_begin(f, r);
	fflush(f);
	t->body = t->len;
	conf_revision_write(conf, f);
	if (fclose(f) == 0)
		return true;
	free(t->octets);
	return false;
}

static int save(struct control *c, const struct revision *r, const struct conf *conf)
{
	struct text t;
	int rc = -ENOMEM;

	if (text_make(&t, r, conf)) {
		rc = history_write(&c->revisions.history, r->number, t.octets, t.len);
		free(t.octets);
	}
	pthread_mutex_lock(&c->lock);
	c->revisions.history.max = history_room(conf);
	c->revisions.history.error = rc;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static struct conf *read_as(struct control *c, uint32_t number, const struct conf_revision *as,
	const struct conf *running, FILE *errors)
{
	const struct history *h = history_of(c);
	char name[32];
	size_t len = 0;
	char *text = history_find(h, number) != NULL || number == h->former
			     ? history_read(h, number, &len)
			     : NULL;
	struct conf_revision revision = *as;
	struct conf *conf;

	snprintf(name, sizeof(name), "revision %" PRIu32, number);
	if (text == NULL) {
		fprintf(errors, "there is no %s: culvertctl history lists them\n", name);
		return NULL;
	}
	revision.name = name;
	revision.text = text;
	revision.len = len;
	conf = conf_revision_read(&revision, running, errors);
	free(text);
	return conf;
}

struct conf *revisions_read(struct control *c, uint32_t number, const char *conf_path,
	const struct conf *running, bool unsaved, FILE *errors)
{
	const struct conf_revision as = {.conf_path = conf_path, .unsaved = unsaved};

	return read_as(c, number, &as, running, errors);
}

// --- start ---

static bool is_kept(const struct control *c, const struct conf *conf)
{
	return c->revisions.history.path[0] != '\0' && conf->history > 0;
}

int revisions_mark(struct control *c, uint32_t unconfirmed, uint32_t former)
{
	struct history *h = history_of(c);
	int rc = history_mark(h, unconfirmed, former);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&c->lock);
	h->unconfirmed = unconfirmed;
	h->former = former;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

// Whether this is the configuration of a revision.
static bool is_revision(struct control *c, uint32_t number, const struct conf *conf)
{
	size_t len = 0;
	char *kept = number != 0 ? history_read(history_of(c), number, &len) : NULL;
	struct text t;
	bool same = false;

	if (kept != NULL && text_make(&t, &(struct revision){.number = number}, conf)) {
		same = len == t.len - t.body && memcmp(kept, t.octets + t.body, len) == 0;
		free(t.octets);
	}
	free(kept);
	return same;
}

// The user that the daemon becomes can write revisions: one that differs in settings which need a
// restart, such as that user, is not used.
struct conf *revisions_begin(struct control *c, struct conf *conf)
{
	struct history *h = history_of(c);
	struct conf *former;

	history_open(h, conf);
	c->revisions.edited = h->unconfirmed != 0 && !is_revision(c, h->unconfirmed, conf);
	if (h->unconfirmed == 0 || c->revisions.edited)
		return conf;
	former = read_as(c, h->former,
		&(struct conf_revision){.conf_path = c->conf_path, .instead_of = conf}, NULL,
		log_failures());
	if (former == NULL) {
		log_error("%s was not confirmed after it was reloaded as revision %" PRIu32
			  ", but revision %" PRIu32 " cannot be used: beginning with the file",
			c->conf_path, h->unconfirmed, h->former);
		return conf;
	}
	log_warn("%s was not confirmed after it was reloaded as revision %" PRIu32
		 ": beginning with revision %" PRIu32 ", until culvertctl reload",
		c->conf_path, h->unconfirmed, h->former);
	conf_free(conf);
	c->revisions.begun = h->former;
	return former;
}

// It is not on the disk, and is tried again.
static void unsaved(struct control *c, const struct revision *r, uint64_t now_ms)
{
	struct revisions *all = &c->revisions;

	if (all->waiting.number == 0)
		log_error("cannot write revision %" PRIu32 " of the configuration: %s", r->number,
			strerror(-all->history.error));
	all->waiting = *r;
	all->n_waiting = 1;
	all->write_ms = now_ms + AGAIN_MS;
}

static void first_write(struct control *c, struct revision *r)
{
	if (save(c, r, c->conf) == 0)
		history_keep(history_of(c), r);
	else
		unsaved(c, r, c->io->now_ms());
}

void revisions_start(struct control *c)
{
	struct history *h = history_of(c);
	struct revision_draft d = {0};

	if (c->revisions.edited)
		revisions_mark(c, 0, 0);
	if (c->conf->history == 0)
		history_clear(h);
	if (!is_kept(c, c->conf) || is_revision(c, last_of(h), c->conf))
		return;
	revisions_draft(c, &d, "start", geteuid());
	d.revision.number = history_next(h);
	if (c->revisions.begun != 0)
		snprintf(d.revision.summary, REVISION_SUMMARY_MAX,
			"revision %" PRIu32 ", as the file was not confirmed", c->revisions.begun);
	else
		strcpy(d.revision.summary, "the configuration file");
	first_write(c, &d.revision);
}

// --- a request ---

void revisions_draft(
	const struct control *c, struct revision_draft *d, const char *source, uint32_t user)
{
	const struct history *h = &c->revisions.history;

	d->revision = (struct revision){.at_s = wall_clock_s(), .user = user};
	snprintf(d->revision.source, sizeof(d->revision.source), "%s", source);
	d->mark = h->unconfirmed;
	d->former = h->former;
}

// n differences, of which this is the first.
static void summary_write(struct revision *r, const struct conf_change *first, unsigned int n)
{
	char text[REVISION_SUMMARY_MAX - sizeof(" and 4294967295 more")];

	conf_change_describe(text, sizeof(text), first);
	if (n > 1)
		snprintf(r->summary, sizeof(r->summary), "%s and %u more", text, n - 1);
	else
		snprintf(r->summary, sizeof(r->summary), "%s", text);
}

void revisions_describe(
	const struct control *c, struct revision_draft *d, const struct conf_changes *list)
{
	d->compared = true;
	if (list->n == 0)
		return;
	d->revision.number = history_next(&c->revisions.history);
	summary_write(&d->revision, &list->change[0], list->n);
}

// Whether the running configuration can replace the new one again.
static bool can_return(
	struct control *c, const struct revision_draft *d, const struct conf *conf, FILE *errors)
{
	struct conf *former =
		revisions_read(c, last_of(history_of(c)), d->conf_path, conf, false, errors);

	conf_free(former);
	return former != NULL;
}

static bool confirmed_prepare(
	struct control *c, struct revision_draft *d, int rc, const struct conf *conf, FILE *errors)
{
	struct history *h = history_of(c);

	if (rc == 0 && d->of_file)
		rc = revisions_mark(c, d->revision.number, last_of(h));
	if (rc == 0)
		return can_return(c, d, conf, errors);
	fprintf(errors,
		"cannot write revision %" PRIu32 " to state_dir, so nothing could return: %s\n",
		d->revision.number, strerror(-rc));
	return false;
}

bool revisions_prepare(
	struct control *c, struct revision_draft *d, const struct conf *conf, FILE *errors)
{
	struct history *h = history_of(c);
	int rc;

	if (!is_kept(c, conf) || (d->confirm_s > 0 && !is_kept(c, c->conf))) {
		d->revision.number = 0;
		if (d->confirm_s > 0)
			fputs("--confirm needs a history, which state_dir = \"none\" and "
			      "history = 0 have not\n",
				errors);
		return d->confirm_s == 0;
	}
	if (!d->compared) {
		fputs("out of memory to compare the configurations\n", errors);
		return false;
	}
	if (d->revision.number == 0)
		return true;
	rc = c->revisions.waiting.number != 0 && d->confirm_s > 0 ? h->error
								  : save(c, &d->revision, conf);
	d->saved = rc == 0;
	return d->confirm_s == 0 || confirmed_prepare(c, d, rc, conf, errors);
}

static void wait_begin(
	struct control *c, const struct revision_draft *d, uint32_t former, uint64_t now_ms)
{
	c->revisions.unconfirmed = (struct unconfirmed){.revision = d->revision.number,
		.former = former,
		.user = d->revision.user,
		.end_ms = now_ms + d->confirm_s * (uint64_t)1000,
		.of_file = d->of_file,
		.unsaved = !d->of_file || d->discards};
}

// It was not confirmed, but undone.
static void wait_end(struct control *c)
{
	struct revisions *all = &c->revisions;

	if (all->unconfirmed.revision != 0)
		all->undone = all->unconfirmed;
	all->unconfirmed.revision = 0;
}

static void undone(struct control *c, const struct revision_draft *d)
{
	struct history *h = history_of(c);

	if (d->saved)
		history_drop(h, d->revision.number);
	if (h->unconfirmed != d->mark)
		revisions_mark(c, d->mark, d->former);
}

static void done_note(struct control *c, const struct revision_draft *d, uint64_t now_ms)
{
	struct revisions *all = &c->revisions;
	uint32_t former = last_of(&all->history);

	if (d->ends_wait)
		wait_end(c);
	if (d->saved) {
		history_keep(&all->history, &d->revision);
		all->waiting.number = 0;
	} else if (d->revision.number != 0) {
		unsaved(c, &d->revision, now_ms);
	}
	if (d->saved && d->confirm_s > 0)
		wait_begin(c, d, former, now_ms);
	if (c->conf->history == 0) {
		history_clear(&all->history);
		all->waiting.number = 0;
	}
}

void revisions_finish(struct control *c, struct revision_draft *d, bool done, uint64_t now_ms)
{
	if (!done) {
		undone(c, d);
		return;
	}
	pthread_mutex_lock(&c->lock);
	done_note(c, d, now_ms);
	pthread_mutex_unlock(&c->lock);
	if (d->of_file && c->revisions.unconfirmed.revision == 0 &&
		c->revisions.history.unconfirmed != 0)
		revisions_mark(c, 0, 0);
}

// --- changes in place ---

bool revisions_may_join(const struct control *c, const struct revision_draft *d)
{
	const struct revision *waiting = &c->revisions.waiting;

	return d->confirm_s == 0 && (waiting->number == 0 || waiting->user == d->revision.user);
}

void revisions_join(struct control *c, struct revision_draft *d, const struct conf_change change[],
	unsigned int n)
{
	struct revisions *all = &c->revisions;

	if (!is_kept(c, c->conf))
		return;
	pthread_mutex_lock(&c->lock);
	all->n_waiting = (all->waiting.number != 0 ? all->n_waiting : 0) + n;
	all->waiting = d->revision;
	all->waiting.number = history_next(&all->history);
	summary_write(&all->waiting, change, all->n_waiting);
	pthread_mutex_unlock(&c->lock);
}

bool revisions_must_write(const struct control *c, uint64_t now_ms)
{
	return c->revisions.waiting.number != 0 && now_ms >= c->revisions.write_ms;
}

void revisions_write(struct control *c, const struct conf *conf)
{
	struct revisions *all = &c->revisions;
	uint64_t begun_ms = c->io->now_ms(), end_ms;
	int rc;

	if (all->waiting.number == 0)
		return;
	rc = save(c, &all->waiting, conf);
	end_ms = c->io->now_ms();
	pthread_mutex_lock(&c->lock);
	all->write_ms =
		end_ms + (rc < 0 ? AGAIN_MS : RTE_MAX(BETWEEN_MS, (end_ms - begun_ms) * SHARE));
	if (rc == 0) {
		history_keep(&all->history, &all->waiting);
		all->waiting.number = 0;
	}
	pthread_mutex_unlock(&c->lock);
}

uint32_t revisions_last(const struct control *c)
{
	const struct revisions *all = &c->revisions;

	return all->waiting.number != 0 ? all->waiting.number : last_of(&all->history);
}
