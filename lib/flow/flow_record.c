// SPDX-License-Identifier: BSD-3-Clause
#include "flow_record.h"

#include <errno.h>
#include <stdlib.h>

#include "flow_table.h"
#include "huge_pages.h"

#define LOOKS 8192 // entries in one call

struct flow_records {
	_Atomic uint32_t written; // records, by the worker
	_Atomic uint32_t read;    // by the control thread
	struct flow_record record[FLOW_RECORDS];
};

// The part of a flow that records have reported, by number of its entry. Control thread.
struct flow_reported {
	uint32_t created_ms; // of the flow; of another one: nothing was reported
	uint32_t at_ms;
	uint64_t packets[2], octets[2]; // in total, as of struct flow_record
	uint32_t dropped[2];
};

// Packets of a flow that were dropped, by direction of its entry. Written by workers.
struct flow_dropped {
	_Atomic uint32_t packets[2];
};

static int memory_new(struct flow_table *t)
{
	for (unsigned int i = 0; i < t->n_workers; i++) {
		struct flow_worker *w = &t->worker[i];

		if (w->ring == NULL)
			w->ring = calloc(1, sizeof(*w->ring));
		if (w->ring == NULL)
			return -ENOMEM;
	}
	if (t->reported == NULL)
		t->reported = flow_array_new(t, sizeof(*t->reported));
	if (t->dropped_map == NULL)
		t->dropped_map = flow_array_new(t, sizeof(*t->dropped_map));
	return t->reported != NULL && t->dropped_map != NULL ? 0 : -ENOMEM;
}

static void rings_set(struct flow_table *t, bool on)
{
	for (unsigned int i = 0; i < t->n_workers; i++) {
		struct flow_worker *w = &t->worker[i];

		atomic_store_explicit(&w->records, on ? w->ring : NULL, memory_order_release);
	}
}

int flow_records_start(struct flow_table *t)
{
	const int rc = memory_new(t);

	if (rc == 0)
		rings_set(t, true);
	return rc;
}

void flow_records_stop(struct flow_table *t)
{
	struct flow_record r;

	rings_set(t, false);
	for (unsigned int i = 0; i < t->n_workers; i++)
		while (t->worker[i].ring != NULL && flow_record_next(t, i, &r))
			;
}

int flow_records_open(struct flow_table *t, uint32_t n)
{
	if (t->reported != NULL &&
		huge_pages_open(t->reported, flow_array_len(n, sizeof(*t->reported))) < 0)
		return -ENOMEM;
	if (t->dropped_map != NULL &&
		huge_pages_open(t->dropped_map, flow_array_len(n, sizeof(*t->dropped_map))) < 0)
		return -ENOMEM;
	return 0;
}

bool flow_dropped_fill(struct flow_table *t)
{
	const size_t len = flow_array_len(t->n_entries_open, sizeof(*t->dropped_map));

	if (t->dropped_map == NULL || !flow_pages_fill(t->dropped_map, &t->dropped_filled, len))
		return false;
	if (t->dropped_filled >= len)
		atomic_store_explicit(&t->dropped, t->dropped_map, memory_order_release);
	return true;
}

void flow_records_free(struct flow_table *t)
{
	for (unsigned int i = 0; i < t->n_workers; i++)
		free(t->worker[i].ring);
	flow_array_free(t, t->reported, sizeof(*t->reported));
	flow_array_free(t, t->dropped_map, sizeof(*t->dropped_map));
}

// --- workers ---

void flow_count_drop(struct flow_table *t, const struct flow *f, unsigned int dir)
{
	struct flow_dropped *dropped = atomic_load_explicit(&t->dropped, memory_order_acquire);

	if (dropped != NULL)
		atomic_fetch_add_explicit(
			&dropped[flow_number(t, f)].packets[dir], 1, memory_order_relaxed);
}

static uint64_t read_count(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static uint32_t read_dropped(const struct flow_table *t, const struct flow *f, unsigned int dir)
{
	struct flow_dropped *dropped = atomic_load_explicit(&t->dropped, memory_order_acquire);

	return dropped != NULL ? load(&dropped[flow_number(t, f)].packets[dir]) : 0;
}

// Of a new flow, or of another one in the entry.
void flow_dropped_reset(struct flow_table *t, const struct flow *f)
{
	struct flow_dropped *dropped = atomic_load_explicit(&t->dropped, memory_order_acquire);

	if (dropped == NULL)
		return;
	store(&dropped[flow_number(t, f)].packets[0], 0);
	store(&dropped[flow_number(t, f)].packets[1], 0);
}

static struct flow_record_dir dir_of(
	const struct flow_table *t, const struct flow *f, unsigned int dir)
{
	const struct flow_dir *d = &f->dir[dir];
	const uint32_t generation = flow_decision_generation(f, dir);
	struct flow_decision decision = {.egress = 0};
	struct flow_record_dir r = {
		.packets = read_count(&d->packets),
		.octets = read_count(&d->octets),
		.dropped = read_dropped(t, f, dir),
		.seen_ms = load(&d->seen),
	};

	if (generation == FLOW_DECIDING || generation == 0 ||
		!flow_decision_get(f, dir, generation, &decision))
		return r;
	r.generation = generation;
	r.ingress = decision.ingress;
	r.in = decision.by.in;
	r.out = decision.by.out;
	r.protected = (decision.egress & (FLOW_PROTECT | FLOW_TUNNEL)) != 0;
	return r;
}

static void record_of(struct flow_record *r, const struct flow_table *t, const struct flow *f,
	uint32_t word, enum flow_end end)
{
	const bool translated = (word & FLOW_TRANSLATED) != 0;
	const struct flow_nat *nat = translated ? flow_nat(t, f) : NULL;
	const unsigned int first = translated ? nat->first : flow_word_initiator(word);

	*r = (struct flow_record){
		.from = flow_key_ends(&f->key, first),
		.dir = {dir_of(t, f, first), dir_of(t, f, !first)},
		.number = flow_number(t, f),
		.created_ms = load(&f->created),
		.begun_ms = load(&f->created),
		.proto = f->key.proto,
		.icmp_type = f->key.icmp_type,
		.icmp_code = f->key.icmp_code,
		.query = f->key.asker != 0,
		.translated = translated,
		.end = end,
	};
	r->to = translated ? flow_key_ends(&nat->key, !nat->sender) : r->from;
}

void flow_record_add(struct flow_table *t, struct flow_worker *w, const struct flow *f,
	uint32_t word, enum flow_end end)
{
	struct flow_records *ring = atomic_load_explicit(&w->records, memory_order_acquire);
	uint32_t at;

	if (likely(ring == NULL))
		return;
	at = load(&ring->written);
	if (at - atomic_load_explicit(&ring->read, memory_order_acquire) == FLOW_RECORDS) {
		count(&w->counters.records_lost);
		return;
	}
	record_of(&ring->record[at % FLOW_RECORDS], t, f, word, end);
	atomic_store_explicit(&ring->written, at + 1, memory_order_release);
}

// --- the control thread ---

static void reported_begin(struct flow_reported *p, const struct flow_record *r)
{
	if (p->created_ms != r->created_ms)
		*p = (struct flow_reported){.created_ms = r->created_ms, .at_ms = r->created_ms};
}

// A closed connection whose entry another one is about to get may be counted from 0 already.
static uint64_t since(uint64_t now, uint64_t reported)
{
	return now > reported ? now - reported : 0;
}

// Leaves the part of the record that has not been reported.
static void subtract(struct flow_record *r, const struct flow_reported *p)
{
	r->begun_ms = p->at_ms;
	for (unsigned int i = 0; i < 2; i++) {
		r->dir[i].packets = since(r->dir[i].packets, p->packets[i]);
		r->dir[i].octets = since(r->dir[i].octets, p->octets[i]);
		r->dir[i].dropped = (uint32_t)since(r->dir[i].dropped, p->dropped[i]);
	}
}

static void reported_add(struct flow_reported *p, const struct flow_record *r, uint32_t now)
{
	p->at_ms = now;
	for (unsigned int i = 0; i < 2; i++) {
		p->packets[i] += r->dir[i].packets;
		p->octets[i] += r->dir[i].octets;
		p->dropped[i] += r->dir[i].dropped;
	}
}

bool flow_record_next(struct flow_table *t, unsigned int worker, struct flow_record *r)
{
	struct flow_records *ring = t->worker[worker].ring;
	const uint32_t at = load(&ring->read);

	if (at == atomic_load_explicit(&ring->written, memory_order_acquire))
		return false;
	*r = ring->record[at % FLOW_RECORDS];
	atomic_store_explicit(&ring->read, at + 1, memory_order_release);
	reported_begin(&t->reported[r->number], r);
	subtract(r, &t->reported[r->number]);
	return true;
}

static bool had_packets(const struct flow_record *r)
{
	return r->dir[0].packets + r->dir[1].packets + r->dir[0].dropped + r->dir[1].dropped > 0;
}

static uint32_t reported_ms(const struct flow_table *t, uint32_t number, uint32_t created_ms)
{
	const struct flow_reported *p = &t->reported[number];

	return p->created_ms == created_ms ? p->at_ms : created_ms;
}

static bool is_due(const struct flow_table *t, const struct flow *f, uint32_t word, uint32_t now,
	uint32_t active_ms)
{
	const uint32_t created = load(&f->created);

	return flow_word_live(word) && elapsed(now, created) >= active_ms &&
	       elapsed(now, reported_ms(t, flow_number(t, f), created)) >= active_ms;
}

static bool report(struct flow_table *t, const struct flow *f, uint32_t word, uint32_t now,
	flow_record_fn *take, void *arg)
{
	struct flow_reported *p = &t->reported[flow_number(t, f)];
	struct flow_record r;

	record_of(&r, t, f, word, FLOW_END_ACTIVE);
	reported_begin(p, &r);
	subtract(&r, p);
	if (had_packets(&r) && !take(arg, &r))
		return false;
	reported_add(p, &r, now);
	return true;
}

static void scan_part(struct flow_table *t, uint32_t *position, uint32_t now, uint32_t active_ms,
	flow_record_fn *take, void *arg)
{
	const uint32_t end = load(&t->n_filled), stop = RTE_MIN(end, *position + LOOKS);

	for (; *position < stop; ++*position) {
		const struct flow *f = &t->entry[*position + 1];
		const uint32_t word = flow_word(f);

		if (is_due(t, f, word, now, active_ms) && !report(t, f, word, now, take, arg))
			return;
	}
	if (*position == end)
		*position = 0;
}

void flow_records_scan(struct flow_table *t, uint32_t *position, uint32_t now, uint32_t active_ms,
	flow_record_fn *take, void *arg)
{
	if (pthread_mutex_trylock(&t->reading) != 0)
		return; // a list has a part of the table
	// An entry that is live from here on is not used again before the end.
	rte_rcu_qsbr_thread_online(t->qsbr, t->reader);
	scan_part(t, position, now, active_ms, take, arg);
	rte_rcu_qsbr_thread_offline(t->qsbr, t->reader);
	pthread_mutex_unlock(&t->reading);
}
