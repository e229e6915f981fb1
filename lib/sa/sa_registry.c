// SPDX-License-Identifier: BSD-3-Clause
#include "sa_registry.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 64

// What is counted under one name. It is freed with the last SA if the table of sequence numbers has
// the key. Else it stays, 64 octets for each key that has been used: nothing else knows its
// numbers.
struct record {
	struct record *next; // in its bucket
	struct key_id name;  // sa_numbers_id()
	uint64_t used;       // highest number that SAs used that are gone
	uint64_t begun;      // where the last inbound one began
	struct sa *first;    // SAs that are there, mostly one
};

struct sa_registry {
	struct record **bucket;
	unsigned int n_buckets; // a power of two
	unsigned int n_records;
	unsigned int shares;
};

static struct record **bucket_of(const struct sa_registry *r, const struct key_id *name)
{
	uint32_t hash;

	memcpy(&hash, name, sizeof(hash)); // a hash already
	return &r->bucket[hash & (r->n_buckets - 1)];
}

// Without memory the buckets stay as they are, which is slower.
static void grow(struct sa_registry *r, unsigned int n_buckets)
{
	struct record **bucket = calloc(n_buckets, sizeof(struct record *));
	struct sa_registry old = *r;

	if (bucket == NULL)
		return;
	r->n_buckets = n_buckets;
	r->bucket = bucket;
	for (unsigned int i = 0; i < old.n_buckets; i++)
		while (old.bucket[i] != NULL) {
			struct record *record = old.bucket[i];
			struct record **to = bucket_of(r, &record->name);

			old.bucket[i] = record->next;
			record->next = *to;
			*to = record;
		}
	free(old.bucket);
}

struct sa_registry *sa_registry_new(void)
{
	struct sa_registry *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	grow(r, BUCKETS_MIN);
	r->shares = 1;
	if (r->bucket != NULL)
		return r;
	free(r);
	return NULL;
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
	for (unsigned int i = 0; i < r->n_buckets; i++)
		while (r->bucket[i] != NULL) {
			struct record *record = r->bucket[i];

			r->bucket[i] = record->next;
			free(record);
		}
	free(r->bucket);
	free(r);
}

// NULL: there is none.
static struct record *record_find(const struct sa_registry *r, const struct key_id *name)
{
	struct record *record = *bucket_of(r, name);

	while (record != NULL && !key_id_equal(&record->name, name))
		record = record->next;
	return record;
}

// Makes it if there is none. NULL without memory.
static struct record *record_get(struct sa_registry *r, const struct sa_options *o)
{
	const struct key_id name = sa_numbers_id(o);
	struct record *record = record_find(r, &name);

	if (record != NULL)
		return record;
	record = calloc(1, sizeof(*record));
	if (record == NULL)
		return NULL;
	if (++r->n_records > r->n_buckets)
		grow(r, 2 * r->n_buckets);
	record->name = name;
	record->next = *bucket_of(r, &name);
	*bucket_of(r, &name) = record;
	return record;
}

// The record of an SA that was taken, which is there as long as the SA.
static struct record *record_of(const struct sa_registry *r, const struct sa *sa)
{
	const struct key_id name = sa_numbers_id(&sa->opt);

	return record_find(r, &name);
}

// The last SA of a key leaves the table what was really used. No number up to there comes again:
// the SA that has the key next begins behind it, see reserve_begin().
static void hand_over(struct record *record, const struct sa *sa)
{
	if (record->first != NULL || !sa->begun || sa->record == NULL)
		return;
	sa->record->bound = record->used;
	record->used = 0;
}

// Removes a record without SAs that has nothing to remember.
static void record_prune(struct sa_registry *r, struct record *record)
{
	struct record **at = bucket_of(r, &record->name);

	if (record->first != NULL || record->used > 0)
		return;
	while (*at != record)
		at = &(*at)->next;
	*at = record->next;
	r->n_records--;
	free(record);
}

static struct sa *find(const struct record *record, const struct sa_options *o)
{
	struct sa *sa = record->first;

	while (sa != NULL && !sa_options_equal(&sa->opt, o))
		sa = sa->next;
	return sa;
}

static void add(struct record *record, struct sa *sa)
{
	sa->next = record->first;
	record->first = sa;
}

static void take_out(struct record *record, const struct sa *sa)
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

static struct sa *take(struct sa_registry *r, const struct sa_params *p)
{
	struct record *record = record_get(r, &p->opt);
	struct sa *sa;

	if (record == NULL)
		return NULL;
	sa = find(record, &p->opt);
	if (sa == NULL) {
		sa = sa_new(p);
		if (sa == NULL) {
			record_prune(r, record);
			return NULL;
		}
		add(record, sa);
	}
	sa->refs++;
	return sa;
}

struct sa_out *sa_registry_out_take(struct sa_registry *r, const struct sa_params *p)
{
	return sa_out_of(take(r, p));
}

struct sa_in *sa_registry_in_take(struct sa_registry *r, const struct sa_params *p)
{
	return sa_in_of(take(r, p));
}

// It carries on what another one was at: what counts against its lifetime, too.
static void succeed(struct sa *sa, const struct sa *old)
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
			succeed(&sa->sa, old);
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
			succeed(&sa->sa, old);
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
	take_out(record, &sa->sa);
	hand_over(record, &sa->sa);
	sa_out_free(sa);
	record_prune(r, record);
}

// Marks what an old SA may have accepted after its successors had begun behind it: in the passes
// that workers were at.
static void close_gap(const struct record *record, uint64_t top)
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
	take_out(record, &sa->sa);
	record->used = RTE_MAX(record->used, replay_top(&sa->replay));
	if (sa->sa.begun)
		close_gap(record, replay_top(&sa->replay));
	hand_over(record, &sa->sa);
	sa_in_free(sa);
	record_prune(r, record);
}
