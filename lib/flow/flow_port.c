// SPDX-License-Identifier: BSD-3-Clause
#include "flow_port.h"

#include "flow_table.h"

// The keys of the counts by source and by holder, in the form of an address: flow_source.h.
static struct ip_addr of_source(uint64_t towards, const struct ip_addr *source)
{
	return (struct ip_addr){.q = {source->q[0] ^ towards, source->q[1]}};
}

static struct ip_addr of_holder(uint64_t towards, uint32_t holder)
{
	return (struct ip_addr){.q = {towards, holder}};
}

uint64_t flow_towards(
	const struct flow_table *t, const struct flow_pkt *p, const struct ip_ends *to)
{
	// The identifier of an ICMP query is at both ends.
	const uint64_t port = p->key.asker != 0 ? 0 : to->dst_port;
	const uint64_t word[] = {to->src.q[0], to->src.q[1], to->dst.q[0], to->dst.q[1],
		port | (uint64_t)p->key.proto << 16};
	const uint64_t towards = keyed_hash(&t->hash_key, word, RTE_DIM(word)) | 1;
	const struct ip_addr source = of_source(towards, &p->key.addr[p->dir]);

	flow_sources_prefetch(&t->ports.by, &source);
	return towards;
}

uint32_t flow_ports_of_source(
	const struct flow_table *t, uint64_t towards, const struct ip_addr *source)
{
	const struct ip_addr counted = of_source(towards, source);

	return flow_sources_count(&t->ports.by, &counted);
}

uint32_t flow_ports_of_holder(const struct flow_table *t, uint64_t towards, uint32_t holder)
{
	const struct ip_addr counted = of_holder(towards, holder);

	return flow_sources_count(&t->ports.by, &counted);
}

static _Atomic uint16_t *block_cell(const struct flow_table *t, uint64_t towards, uint32_t block)
{
	return &t->ports.block[(towards + block) & t->ports.by.mask];
}

bool flow_port_block_is_full(const struct flow_table *t, uint64_t towards, uint32_t block)
{
	return atomic_load_explicit(block_cell(t, towards, block), memory_order_relaxed) >=
	       FLOW_PORT_BLOCK;
}

void flow_port_count(struct flow_table *t, struct flow *f, uint32_t word,
	void (*change)(struct flow_sources *s, const struct ip_addr *addr), uint16_t more)
{
	const struct flow_nat *nat = flow_nat(t, f);
	struct ip_addr source, holder;

	if ((word & FLOW_TRANSLATED) == 0 || nat->towards == 0)
		return;
	source = of_source(nat->towards, &f->key.addr[nat->first]);
	holder = of_holder(nat->towards, f->holder);
	change(&t->ports.by, &source);
	change(&t->ports.by, &holder);
	atomic_fetch_add_explicit(
		block_cell(t, nat->towards,
			rte_be_to_cpu_16(nat->key.port[!nat->sender]) / FLOW_PORT_BLOCK),
		more, memory_order_relaxed);
}

// Whether a key can get no slot.
static bool is_full(const struct flow_table *t, uint32_t hash)
{
	return (bucket_match(flow_first_bucket(t, hash), TAG_EMPTY) |
		       bucket_match(flow_second_bucket(t, hash), TAG_EMPTY)) == 0;
}

// Whether a key has a slot, or another one with the same tag.
static bool is_tagged(const struct flow_table *t, uint32_t hash)
{
	return (bucket_match(flow_first_bucket(t, hash), tag_of(hash)) |
		       bucket_match(flow_second_bucket(t, hash), tag_of(hash))) != 0;
}

static struct flow_pkt reply_to_port(const struct flow_table *t, const struct flow_pkt *p,
	const struct ip_ends *to, rte_be16_t port)
{
	const struct ip_ends ends = {
		to->src, to->dst, port, p->key.asker != 0 ? port : to->dst_port};

	return flow_reply_to(t, p, &ends); // prefetches its first bucket
}

bool flow_port_is_free(const struct flow_table *t, const struct flow_pkt *p,
	const struct ip_ends *to, rte_be16_t port)
{
	struct flow_pkt reply = reply_to_port(t, p, to, port);

	return !is_full(t, reply.hash) && flow_find(t, &reply) == NULL;
}

void flow_ports_begin(const struct flow_table *t, const struct flow_pkt *p,
	const struct ip_ends *to, const rte_be16_t port[], unsigned int n, uint32_t hash[])
{
	for (unsigned int i = 0; i < n; i++) {
		hash[i] = reply_to_port(t, p, to, port[i]).hash;
		rte_prefetch0(flow_second_bucket(t, hash[i]));
	}
}

unsigned int flow_ports_find(const struct flow_table *t, const uint32_t hash[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!is_tagged(t, hash[i]) && !is_full(t, hash[i]))
			return i;
	return n;
}
