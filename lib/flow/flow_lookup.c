// SPDX-License-Identifier: BSD-3-Clause
#include "flow_lookup.h"

union flow_place flow_lookup_start(const struct flow_table *t, struct flow_pkt *p)
{
	return flow_lookup_hashed(flow_index(t), p, flow_hash_key(t, &p->key, p->v4));
}

enum drop flow_lookup_read_unusual(const struct flow_table *t, struct flow_pkt *p, const void *ip,
	const struct ip_layout *at, union flow_place *place)
{
	enum drop d = flow_pkt_read(p, ip, at);

	if (d == DROP_NONE)
		*place = flow_lookup_start(t, p);
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

void flow_find_burst(const struct flow_table *t, const struct flow_pkt p[],
	union flow_place place[], unsigned int n)
{
	struct flow_index *x = flow_index(t);
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
	// A loop this short waits for many cache lines at once. The next one does more for each
	// packet, and would wait for one line after the other.
	for (unsigned int i = 0; i < n; i++)
		if (likely(place[i].own != NULL))
			atomic_load_explicit(&place[i].own->mark, memory_order_relaxed);
}
