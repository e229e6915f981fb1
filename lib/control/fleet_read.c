// SPDX-License-Identifier: BSD-3-Clause
// How a member of a fleet reads keys in etcd: four times in a second it asks for no more than the
// revision of etcd, and for the keys that have changed when that is another one. All values at once
// are megabytes, for etcd and for each member.
#include <errno.h>
#include <string.h>

#include "etcd_text.h"
#include "fleet_parts.h"
#include "group.h"

#define READ_MS      250   // between looks at the revision
#define MOVE_MS      20    // the same while a group moves
#define ALL_MS       60000 // between reads of all, also of unchanged ones,
#define ALL_EACH_MS  500   // and more for each number of a member: they do not read at once
#define SOON_EACH_MS 100   // the same after a failure, which all of them have

// Whether all keys are read next: none is known, it is time, or a value has not been read with this
// configuration.
static bool is_all_due(const struct control *c, uint64_t now_ms)
{
	bool due = c->fleet->revision == 0 || now_ms >= c->fleet->all_ms;

	for (unsigned int i = 0; i < c->groups.n; i++)
		due |= c->groups.item[i].fleet.unchecked;
	return due;
}

enum fleet_question fleet_read_question(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;

	f->all = is_all_due(c, now_ms);
	return f->all || f->stale ? FLEET_READ : FLEET_POLL;
}

char *fleet_read_text(const struct control *c, enum fleet_question question)
{
	char key[FLEET_KEY_MAX], members[FLEET_KEY_MAX], groups[FLEET_KEY_MAX];
	const int64_t since = c->fleet->all ? 1 : c->fleet->revision + 1;

	fleet_member_key(c, key);
	fleet_key(c, members, "members", "");
	fleet_key(c, groups, "groups", "");
	if (question == FLEET_POLL)
		return etcd_poll_text(key);
	return etcd_read_text(members, c->fleet->all_members ? 1 : since, groups, since);
}

// The group that a key is of; NULL: this member has none.
static struct owned_group *group_of_key(struct control *c, const struct etcd_key *key)
{
	char prefix[FLEET_KEY_MAX];
	const char *name;

	fleet_key(c, prefix, "groups", "");
	name = fleet_name_in(key->name, prefix);
	return name != NULL ? group_find(c, name) : NULL;
}

static void group_take(struct control *c, struct etcd_key *key)
{
	struct owned_group *g = group_of_key(c, key);

	if (g != NULL)
		fleet_group_read(c, g, key);
}

// Whether a key of a group was made since the last read, and is not one that this member has made.
static bool is_new(struct control *c, const struct etcd_key *key)
{
	const struct owned_group *g = group_of_key(c, key);

	return key->created > c->fleet->revision && (g == NULL || g->fleet.revision == 0);
}

static bool has_group(const struct control *c, const struct etcd_result *r, const char *name)
{
	char key[FLEET_KEY_MAX];

	fleet_group_key(c, key, name);
	for (unsigned int i = 0; i < r->n_keys; i++)
		if (r->keys[i].range == 1 && strcmp(r->keys[i].name, key) == 0)
			return true;
	return false;
}

// Members one after the other: if all of them read all keys whenever etcd is late, it stays late.
void fleet_read_all_soon(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	uint64_t soon_ms = now_ms + (uint64_t)SOON_EACH_MS * c->conf->fleet_member;

	if (f->all_ms <= now_ms || f->all_ms > soon_ms)
		f->all_ms = soon_ms;
}

// After a time without answers, nothing of others is taken before they may have answers, too, and
// etcd may have another past.
static void note_gap(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	const uint64_t lease_ms = UINT64_C(1000) * c->conf->fleet_lease_s;

	if (f->keys_ms != 0 && now_ms - f->keys_ms > lease_ms / 2) {
		f->quiet_ms = now_ms + lease_ms;
		fleet_read_all_soon(c, now_ms);
	}
	f->answered_ms = f->keys_ms = f->asked_ms; // the keys can be as old as that
	f->read_ms = now_ms + (fleet_moves(c) ? MOVE_MS : READ_MS);
}

// Each change of a key, also its end with a lease, gives etcd another revision.
void fleet_poll_taken(struct control *c, const struct etcd_result *r, uint64_t now_ms)
{
	struct fleet *f = c->fleet;

	f->stale = r->revision != f->revision;
	if (r->revision < f->revision)
		f->revision = 0; // in another past, numbers of revisions recur
	if (!f->stale)
		note_gap(c, now_ms);
}

// Whether a group has lost its key, which the changed ones do not show, or etcd has another past.
static bool has_lost_keys(struct control *c, const struct etcd_result *r)
{
	const struct fleet *f = c->fleet;
	uint64_t n = (uint64_t)f->n_keys[1];

	for (unsigned int i = 0; i < r->n_keys; i++)
		n += r->keys[i].range == 1 && is_new(c, &r->keys[i]);
	return r->revision < f->revision || (uint64_t)r->counts[1] != n;
}

// Whether a member has come, gone, or changed. The changed ones alone do not show which has gone.
static bool have_members_changed(const struct fleet *f, const struct etcd_result *r)
{
	bool changed = r->counts[0] != f->n_keys[0];

	for (unsigned int i = 0; i < r->n_keys; i++)
		changed |= r->keys[i].range == 0;
	return changed;
}

static void members_take(struct control *c, const struct etcd_result *r)
{
	char prefix[FLEET_KEY_MAX];

	fleet_key(c, prefix, "members", "");
	c->fleet->n_members = 0;
	for (unsigned int i = 0; i < r->n_keys; i++) {
		const char *name = fleet_name_in(r->keys[i].name, prefix);

		if (r->keys[i].range == 0 && name != NULL)
			fleet_member_take(c->fleet, name, &r->keys[i]);
	}
}

int fleet_read_taken(struct control *c, struct etcd_result *r, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	const bool members = f->all || f->all_members, lost = !f->all && has_lost_keys(c, r);

	if (r->counts[0] > FLEET_MEMBERS_MAX || r->counts[1] > ETCD_KEYS_MAX)
		return -EBADMSG; // some members would seem to be dead, or groups to be missing
	f->all_members = !members && have_members_changed(f, r);
	if (f->all_members)
		return 0; // with all of them it is read again at once
	if (members)
		members_take(c, r);
	for (unsigned int i = 0; i < r->n_keys; i++)
		if (r->keys[i].range == 1)
			group_take(c, &r->keys[i]);
	for (unsigned int i = 0; f->all && i < c->groups.n; i++)
		if (!has_group(c, r, c->groups.item[i].name))
			fleet_group_read(c, &c->groups.item[i], NULL);
	note_gap(c, now_ms);
	if (f->all)
		f->all_ms = now_ms + ALL_MS + (uint64_t)ALL_EACH_MS * c->conf->fleet_member;
	memcpy(f->n_keys, r->counts, sizeof(f->n_keys));
	f->stale = false;
	f->revision = lost ? 0 : r->revision;
	return 0;
}

// If the transaction has failed, another member was first, which may be new, the lease has ended,
// or the key was deleted: nothing is decided before keys have been read. If it is no newer than the
// last read, etcd may have another past.
void fleet_replace_taken(struct control *c, struct etcd_result *r)
{
	struct fleet *f = c->fleet;
	bool newer = false;

	for (unsigned int i = 0; i < r->n_keys; i++) {
		newer |= r->keys[i].revision > f->revision;
		f->n_keys[1] += is_new(c, &r->keys[i]);
		group_take(c, &r->keys[i]);
	}
	if (r->succeeded)
		return;
	f->read_ms = f->answered_ms = 0;
	f->stale = true;
	if (!newer)
		f->revision = 0;
}
