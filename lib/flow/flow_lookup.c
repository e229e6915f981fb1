// SPDX-License-Identifier: BSD-3-Clause
#include "flow_lookup.h"

union flow_place flow_lookup_start(const struct flow_table *t, struct flow_pkt *p)
{
	return flow_lookup_hashed(flow_index(t), p, flow_hash_key(t, &p->key, p->v4));
}

enum drop flow_lookup_read_unusual(const struct flow_table *t, struct flow_index *x,
	struct flow_pkt *p, const void *ip, const struct ip_layout *at, union flow_place *place)
{
	enum drop d = flow_pkt_read(p, ip, at);

	if (d == DROP_NONE)
		*place = flow_lookup_hashed(x, p, flow_hash_key(t, &p->key, p->v4));
	return d;
}

// The first entry whose tag fits, or NULL. Prefetches the lines that flow_track() and the decision
// need.
static __rte_always_inline struct flow_dir *bucket_find(
	const struct flow_table *t, const struct bucket *b, const struct flow_pkt *p)
{
	unsigned int hits = bucket_match(b, tag_of(p->hash));
	struct flow_dir *own;
	uint32_t place;

	if (hits == 0)
		return NULL;
	place = atomic_load_explicit(
		&b->place[(unsigned int)__builtin_ctz(hits)], memory_order_acquire);
	if (unlikely(place == 0))
		return NULL;
	own = flow_line(t, place ^ p->dir);
	__builtin_prefetch(own, 1);
	if (p->key.proto == IPPROTO_TCP)
		__builtin_prefetch(&flow_of_dir(own)->tcp, 1);
	return own;
}

// Loads a word of every entry that was found. A loop this short waits for many cache lines at once.
// The next one does more for each packet, and would wait for one line after the other. Of IPv6 the
// key is in another line.
static __rte_always_inline void lines_load(
	const union flow_place place[], unsigned int n, const bool v4)
{
	for (unsigned int i = 0; i < n; i++) {
		if (unlikely(place[i].own == NULL))
			continue;
		atomic_load_explicit(&place[i].own->mark, memory_order_relaxed);
		if (!v4)
			rte_prefetch0(&flow_of_dir(place[i].own)->key);
	}
}

void flow_find_burst(const struct flow_table *t, struct flow_index *x, const struct flow_pkt p[],
	union flow_place place[], unsigned int n)
{
	uint8_t late[FLOW_BURST_MAX];
	unsigned int n_late = 0;

	for (unsigned int i = 0; i < n; i++) {
		place[i].own = bucket_find(t, place[i].bucket, &p[i]);
		if (unlikely(place[i].own == NULL)) {
			rte_prefetch0(flow_second_bucket(x, p[i].hash));
			late[n_late++] = (uint8_t)i;
		}
	}
	for (unsigned int j = 0; j < n_late; j++) {
		unsigned int i = late[j];

		place[i].own = bucket_find(t, flow_second_bucket(x, p[i].hash), &p[i]);
	}
	if (likely(n == 0 || (p[0].v4 && p[n - 1].v4)))
		lines_load(place, n, true);
	else
		lines_load(place, n, false);
}
