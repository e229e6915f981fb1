// SPDX-License-Identifier: BSD-3-Clause
// Lookup of the flows of a burst, inline in the loops of the packet path: each starts the memory
// access that the next one waits for. Workers; as in flow.h.
//
//	for each packet: flow_lookup_read()
//	flow_find_burst()
//	for each packet: flow_is_of_packet(), or flow_find()
#pragma once

#include "flow_table.h"

static __rte_always_inline uint32_t flow_hash_brief(
	const struct hash_key *key, struct flow_brief brief)
{
	const uint64_t word[] = {brief.addrs, brief.rest};

	return (uint32_t)keyed_hash(key, word, RTE_DIM(word));
}

// Of a key of IPv4, or not.
static __rte_always_inline uint32_t flow_hash_key(
	const struct flow_table *t, const struct flow_key *key, bool v4)
{
	return v4 ? flow_hash_brief(&t->hash_key, flow_brief_of(key))
		  : (uint32_t)keyed_hash(&t->hash_key, key->q, FLOW_KEY_WORDS);
}

// Starts the lookup of the flow of a packet with the hash.
static __rte_always_inline union flow_place flow_lookup_hashed(
	struct flow_index *x, struct flow_pkt *p, uint32_t hash)
{
	const struct bucket *b = flow_first_bucket(x, hash);

	p->hash = hash;
	rte_prefetch0(b);
	return (union flow_place){.bucket = b};
}

// For flow_lookup_read() alone: packets that are neither TCP nor UDP, or that have options or
// extension headers.
enum drop flow_lookup_read_unusual(const struct flow_table *t, struct flow_index *x,
	struct flow_pkt *p, const void *ip, const struct ip_layout *at, union flow_place *place);

// flow_lookup_read() of IPv6, and of packets that are not plain.
static __rte_always_inline enum drop flow_lookup_read_v6(const struct flow_table *t,
	struct flow_index *x, struct flow_pkt *p, const void *ip, const struct ip_layout *at,
	union flow_place *place)
{
	enum drop d;

	if (likely(ip_layout_is_plain(at, IPPROTO_UDP, false)))
		d = flow_pkt_read_v6(p, ip, at, IPPROTO_UDP);
	else if (likely(ip_layout_is_plain(at, IPPROTO_TCP, false)))
		d = flow_pkt_read_v6(p, ip, at, IPPROTO_TCP);
	else
		return flow_lookup_read_unusual(t, x, p, ip, at, place);
	if (likely(d == DROP_NONE))
		*place = flow_lookup_hashed(
			x, p, (uint32_t)keyed_hash(&x->hash_key, p->key.q, FLOW_KEY_WORDS));
	return d;
}

// Reads the headers of a packet as flow_pkt_read(), and starts the lookup of its flow as
// flow_lookup_start(), *place being for flow_find_burst(). x: that of the table, for the whole
// burst. Returns as flow_pkt_read().
static __rte_always_inline enum drop flow_lookup_read(const struct flow_table *t,
	struct flow_index *x, struct flow_pkt *p, const void *ip, const struct ip_layout *at,
	union flow_place *place)
{
	struct flow_brief brief;
	enum drop d;

	if (likely(ip_layout_is_plain(at, IPPROTO_UDP, true)))
		d = flow_pkt_read_v4(p, ip, at, IPPROTO_UDP, &brief);
	else if (likely(ip_layout_is_plain(at, IPPROTO_TCP, true)))
		d = flow_pkt_read_v4(p, ip, at, IPPROTO_TCP, &brief);
	else
		return flow_lookup_read_v6(t, x, p, ip, at, place);
	if (likely(d == DROP_NONE))
		*place = flow_lookup_hashed(x, p, flow_hash_brief(&x->hash_key, brief));
	return d;
}

// Whether a direction is that of a packet: by its own line, of IPv6 by the whole key. For replies
// of a translated flow that is the other key, so that it is false: flow_find() finds them. A flow
// that another worker is just removing may still be taken for that of the packet.
static __rte_always_inline bool flow_is_of_packet(
	struct flow_dir *own, const struct flow_pkt *p, const bool v4)
{
	const struct flow_brief brief = flow_brief_of(&p->key);

	return v4 ? own->key.addrs == brief.addrs && own->key.rest == brief.rest
		  : own->key.addrs == 0 && flow_key_equal(&flow_of_dir(own)->key, &p->key);
}
