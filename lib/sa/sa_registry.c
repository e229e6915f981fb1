// SPDX-License-Identifier: BSD-3-Clause
#include "sa_registry.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

// The SAs of one name, and the numbers they have used. It is freed with the last SA if the table of
// sequence numbers has the key. Else it stays, 96 octets for each key that has been used: nothing
// else knows its numbers.
struct record {
	struct key_id name; // sa_numbers_id()
	uint64_t used;      // highest number used by SAs that have been freed
	uint64_t begun;     // first number, less one, of the last inbound SA
	struct sa *first;   // SAs, mostly one
};

struct sa_registry {
	void *tree; // of struct record, by name (tsearch)
	unsigned int shares;
};

static int compare_names(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return memcmp(&x->name, &y->name, sizeof(x->name));
}

struct sa_registry *sa_registry_new(void)
{
	struct sa_registry *r = calloc(1, sizeof(*r));

	if (r != NULL)
		r->shares = 1;
	return r;
}

struct sa_registry *sa_registry_share(struct sa_registry *r)
{
	r->shares++;
	return r;
}

void sa_registry_free(struct sa_registry *r)
{
	if (r == NULL || --r->shares > 0)
		return;
	tdestroy(r->tree, free);
	free(r);
}

// Adds it if there is none. NULL without memory.
static struct record *record_get(struct sa_registry *r, const struct sa_options *o)
{
	struct record *fresh = calloc(1, sizeof(*fresh)), **found = NULL;

	if (fresh != NULL) {
		fresh->name = sa_numbers_id(o);
		found = tsearch(fresh, &r->tree, compare_names);
	}
	if (found != NULL && *found == fresh)
		return fresh;
	free(fresh);
	return found != NULL ? *found : NULL;
}

// The record of an SA that was taken, which is there as long as the SA.
static struct record *record_of(const struct sa_registry *r, const struct sa *sa)
{
	const struct record wanted = {.name = sa_numbers_id(&sa->opt)};

	return *(struct record **)tfind(&wanted, &r->tree, compare_names);
}

// The last SA of a key writes to the table what was really used. No number up to there is used
// again: the next SA with the key starts after it, see reserve_begin().
static void numbers_hand_over(struct record *record, const struct sa *sa)
{
	if (record->first != NULL || !sa->begun || sa->record == NULL)
		return;
	sa->record->bound = record->used;
	record->used = 0;
}

// Removes a record without SAs that has nothing to remember.
static void record_prune(struct sa_registry *r, struct record *record)
{
	if (record->first != NULL || record->used > 0)
		return;
	tdelete(record, &r->tree, compare_names);
	free(record);
}

static struct sa *sa_find(const struct record *record, const struct sa_options *o)
{
	struct sa *sa = record->first;

	while (sa != NULL && !sa_options_equal(&sa->opt, o))
		sa = sa->next;
	return sa;
}

static void sa_add(struct record *record, struct sa *sa)
{
	sa->next = record->first;
	record->first = sa;
}

static void sa_remove(struct record *record, const struct sa *sa)
{
	struct sa **at = &record->first;

	while (*at != sa)
		at = &(*at)->next;
	*at = sa->next;
}

static struct sa *sa_new(const struct sa_params *p)
{
	struct sa_out *out = p->opt.direction == SA_OUT ? sa_out_new(p) : NULL;
	struct sa_in *in = p->opt.direction == SA_IN ? sa_in_new(p) : NULL;

	return out != NULL ? &out->sa : in != NULL ? &in->sa : NULL;
}

static struct sa *sa_take(struct sa_registry *r, const struct sa_params *p)
{
	struct record *record = record_get(r, &p->opt);
	struct sa *sa;

	if (record == NULL)
		return NULL;
	sa = sa_find(record, &p->opt);
	if (sa == NULL) {
		sa = sa_new(p);
		if (sa == NULL) {
			record_prune(r, record);
			return NULL;
		}
		sa_add(record, sa);
	}
	sa->refs++;
	return sa;
}

struct sa_out *sa_registry_out_take(struct sa_registry *r, const struct sa_params *p)
{
	return sa_out_of(sa_take(r, p));
}

struct sa_in *sa_registry_in_take(struct sa_registry *r, const struct sa_params *p)
{
	return sa_in_of(sa_take(r, p));
}

// Continues the counters and the lifetime of an SA with the same key.
static void sa_continue(struct sa *sa, const struct sa *old)
{
	memcpy(sa->counters, old->counters, sa->n_workers * sizeof(sa->counters[0]));
	sa->lifetime.start_ms = old->lifetime.start_ms;
	sa->seen_ms = old->seen_ms;
	sa->seen_bytes = old->seen_bytes;
	sa->looked_ms = old->looked_ms;
	sa->rate = old->rate;
}

void sa_registry_out_begin(struct sa_registry *r, struct sa_out *sa)
{
	const struct record *record;
	uint64_t used;

	if (sa->sa.begun)
		return;
	sa->sa.begun = true;
	record = record_of(r, &sa->sa);
	used = record->used;
	for (struct sa *old = record->first; old != NULL; old = old->next)
		if (old->begun && old != &sa->sa) {
			uint64_t seq =
				atomic_load_explicit(&sa_out_of(old)->seq, memory_order_relaxed);

			used = RTE_MAX(used, RTE_MIN(seq, SA_ESN_MAX) + SA_REGISTRY_AHEAD);
			sa_continue(&sa->sa, old);
		}
	if (used > 0)
		sa_out_start_behind(sa, RTE_MIN(used, sa->seq_max));
}

void sa_registry_in_begin(struct sa_registry *r, struct sa_in *sa)
{
	struct record *record;
	uint64_t used;

	if (sa->sa.begun)
		return;
	sa->sa.begun = true;
	record = record_of(r, &sa->sa);
	used = record->used;
	for (struct sa *old = record->first; old != NULL; old = old->next)
		if (old->begun && old != &sa->sa) {
			used = RTE_MAX(used, replay_top(&sa_in_of(old)->replay));
			sa_continue(&sa->sa, old);
		}
	record->begun = used;
	if (used > 0)
		sa_in_start_behind(sa, used);
}

void sa_registry_out_give(struct sa_registry *r, struct sa_out *sa)
{
	struct record *record;

	if (--sa->sa.refs > 0)
		return;
	record = record_of(r, &sa->sa);
	record->used = RTE_MAX(record->used, RTE_MIN(sa->seq, sa->seq_max));
	sa_remove(record, &sa->sa);
	numbers_hand_over(record, &sa->sa);
	sa_out_free(sa);
	record_prune(r, record);
}

// Marks the numbers that an old SA may have accepted after its successors had started after it: in
// passes of workers that still had the old snapshot.
static void gap_mark(const struct record *record, uint64_t top)
{
	uint64_t first = RTE_MAX(record->begun, top - RTE_MIN(top, SA_REGISTRY_AHEAD)) + 1;

	for (struct sa *sa = record->first; sa != NULL; sa = sa->next)
		for (uint64_t seq = first; sa->begun && seq <= top; seq++)
			replay_commit(&sa_in_of(sa)->replay, seq);
}

void sa_registry_in_give(struct sa_registry *r, struct sa_in *sa)
{
	struct record *record;

	if (--sa->sa.refs > 0)
		return;
	record = record_of(r, &sa->sa);
	sa_remove(record, &sa->sa);
	record->used = RTE_MAX(record->used, replay_top(&sa->replay));
	if (sa->sa.begun)
		gap_mark(record, replay_top(&sa->replay));
	numbers_hand_over(record, &sa->sa);
	sa_in_free(sa);
	record_prune(r, record);
}
