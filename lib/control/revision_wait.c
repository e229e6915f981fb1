// SPDX-License-Identifier: BSD-3-Clause
// Changes that wait for a confirmation. The other gateway of a pair gets them with it.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "member_changes.h"
#include "revisions.h"

#define AGAIN_MS 10000 // to the next try of a return that failed

void revisions_stop(struct control *c)
{
	free(c->revisions.pending);
	c->revisions.pending = NULL;
}

// --- the other gateway of a pair ---

static bool must_confirm(const struct revision_draft *d)
{
	return d->confirm_s > 0 && d->saved;
}

// Keeps the change for the confirmation. Without memory the other configuration differs, which is
// shown.
static void pending_keep(struct control *c, bool new_keys, const char *name, const char *changes)
{
	struct revisions *all = &c->revisions;

	free(all->pending);
	all->pending_new_keys = new_keys;
	all->pending_file = name == NULL;
	if (name == NULL || asprintf(&all->pending, "%s%c%s", name, '\n', changes) < 0)
		all->pending = NULL;
}

void revisions_share(struct control *c, const struct revision_draft *d,
	const struct control_request *asked, bool new_keys, const char *name, const char *changes)
{
	if (must_confirm(d))
		pending_keep(c, new_keys, name, changes);
	else
		member_changes_note(c, asked, new_keys, name, changes);
}

void revisions_share_file(struct control *c, const struct revision_draft *d)
{
	if (must_confirm(d))
		pending_keep(c, false, NULL, NULL);
	else
		member_changes_clear(c);
}

static void pending_send(struct control *c)
{
	struct revisions *all = &c->revisions;
	char *changes = all->pending != NULL ? strchr(all->pending, '\n') : NULL;

	if (all->pending_file)
		member_changes_clear(c);
	if (changes == NULL)
		return;
	*changes++ = '\0';
	member_changes_note(
		c, &(struct control_request){0}, all->pending_new_keys, all->pending, changes);
}

// --- confirmation ---

static uint64_t left_ms(const struct unconfirmed *u, uint64_t now_ms)
{
	return u->end_ms > now_ms ? u->end_ms - now_ms : 0;
}

bool revisions_wait(const struct control *c, uint64_t now_ms, FILE *out)
{
	const struct unconfirmed *u = &c->revisions.unconfirmed;

	if (u->revision == 0)
		return false;
	fprintf(out,
		"revision %" PRIu32 " of user %" PRIu32 " waits for its confirmation, for %" PRIu64
		" s more: culvertctl confirm, or culvertctl rollback %" PRIu32 "\n",
		u->revision, u->user, (left_ms(u, now_ms) + 999) / 1000, u->former);
	return true;
}

bool revisions_may_confirm(const struct control *c, uint64_t now_ms)
{
	return c->revisions.unconfirmed.revision != 0 && now_ms < c->revisions.unconfirmed.end_ms;
}

bool revisions_must_return(const struct control *c, uint64_t now_ms)
{
	return c->revisions.unconfirmed.revision != 0 && now_ms >= c->revisions.unconfirmed.end_ms;
}

void revisions_return_later(struct control *c, uint64_t now_ms)
{
	c->revisions.unconfirmed.end_ms = now_ms + AGAIN_MS;
}

bool revisions_confirm(struct control *c, FILE *out)
{
	struct unconfirmed *u = &c->revisions.unconfirmed;
	int rc;

	if (u->revision == 0) {
		fputs("no change waits for a confirmation: culvertctl history shows what was "
		      "undone\n",
			out);
		return false;
	}
	rc = u->of_file ? revisions_mark(c, 0, 0) : 0;
	if (rc < 0) {
		fprintf(out, "state_dir cannot be written: %s\n", strerror(-rc));
		return false;
	}
	pending_send(c);
	pthread_mutex_lock(&c->lock);
	u->revision = 0;
	pthread_mutex_unlock(&c->lock);
	return true;
}

// --- for lists ---

uint64_t revisions_unconfirmed(const struct control *c)
{
	const struct revisions *all = &c->revisions;

	return all->unconfirmed.revision != 0 ? all->unconfirmed.revision
					      : all->history.unconfirmed;
}

uint64_t revisions_left_ms(const struct control *c)
{
	const struct unconfirmed *u = &c->revisions.unconfirmed;

	return u->revision != 0 ? left_ms(u, c->io->now_ms()) : UINT64_MAX;
}

const char *revisions_error(const struct control *c)
{
	int error = c->revisions.history.error;

	return error != 0 ? strerrordesc_np(-error) : NULL;
}
