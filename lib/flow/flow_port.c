// SPDX-License-Identifier: BSD-3-Clause
#include "flow_port.h"

#include "flow_lookup.h"

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
	// The identifier of an ICMP query is at both ends; each type and code has all of them.
	const uint64_t port = p->key.asker != 0 ? p->key.icmp_type | (uint64_t)p->key.icmp_code << 8
						: to->dst_port;
	const uint64_t word[] = {to->src.q[0], to->src.q[1], to->dst.q[0], to->dst.q[1],
		port | (uint64_t)p->key.proto << 16};
	const uint64_t towards = keyed_hash(&t->hash_key, word, RTE_DIM(word)) | 1;
	const struct ip_addr source = of_source(towards, &p->key.addr[p->dir]);

	flow_source_cells_prefetch(flow_source_cells(&t->ports.by, &source));
	return towards;
}

uint32_t flow_ports_of_source(
	const struct flow_table *t, uint64_t towards, const struct ip_addr *source)
{
	const struct ip_addr counted = of_source(towards, source);

	return flow_source_cells_count(flow_source_cells(&t->ports.by, &counted));
}

uint32_t flow_ports_of_holder(const struct flow_table *t, uint64_t towards, uint32_t holder)
{
	const struct ip_addr counted = of_holder(towards, holder);

	return flow_source_cells_count(flow_source_cells(&t->ports.by, &counted));
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

static struct flow_port_cells cells_of(const struct flow_table *t, uint64_t towards,
	const struct ip_addr *source, uint32_t holder, rte_be16_t port)
{
	const struct ip_addr by_source = of_source(towards, source),
			     by_holder = of_holder(towards, holder);

	if (towards == 0)
		return (struct flow_port_cells){.block = NULL};
	return (struct flow_port_cells){
		.source = flow_source_cells(&t->ports.by, &by_source),
		.holder = flow_source_cells(&t->ports.by, &by_holder),
		.block = block_cell(t, towards, rte_be_to_cpu_16(port) / FLOW_PORT_BLOCK),
	};
}

struct flow_port_cells flow_port_cells(const struct flow_table *t, const struct flow_pkt *p,
	const struct flow_translation *translation, uint32_t holder)
{
	return cells_of(
		t, translation->towards, &p->key.addr[p->dir], holder, translation->to.src_port);
}

struct flow_port_cells flow_port_cells_of(const struct flow_table *t, const struct flow *f)
{
	const struct flow_nat *nat = flow_nat(t, f);

	return cells_of(
		t, nat->towards, &f->key.addr[nat->first], f->holder, nat->key.port[!nat->sender]);
}

bool flow_port_is_refused(
	const struct flow_port_cells *c, const struct flow_translation *translation)
{
	return c->block != NULL &&
	       (flow_source_cells_count(c->source) > translation->per_source - 1 ||
		       flow_source_cells_count(c->holder) > translation->per_peer - 1);
}

void flow_port_add(const struct flow_port_cells *c)
{
	if (c->block == NULL)
		return;
	flow_source_cells_add(c->source);
	flow_source_cells_add(c->holder);
	atomic_fetch_add_explicit(c->block, 1, memory_order_relaxed);
}

void flow_port_subtract(const struct flow_port_cells *c)
{
	if (c->block == NULL)
		return;
	flow_source_cells_subtract(c->source);
	flow_source_cells_subtract(c->holder);
	atomic_fetch_sub_explicit(c->block, 1, memory_order_relaxed);
}

// Whether a key can get no slot.
static bool is_full(const struct flow_table *t, uint32_t hash)
{
	return (bucket_match(flow_first_bucket(flow_index(t), hash), TAG_EMPTY) |
		       bucket_match(flow_second_bucket(flow_index(t), hash), TAG_EMPTY)) == 0;
}

// Whether a key has a slot, or another one with the same tag.
static bool is_tagged(const struct flow_table *t, uint32_t hash)
{
	return bucket_match(flow_first_bucket(flow_index(t), hash), tag_of(hash)) != 0 ||
	       bucket_match(flow_second_bucket(flow_index(t), hash), tag_of(hash)) != 0;
}

static struct flow_pkt reply_to_port(
	const struct flow_pkt *p, const struct ip_ends *to, rte_be16_t port)
{
	const struct ip_ends ends = {
		to->src, to->dst, port, p->key.asker != 0 ? port : to->dst_port};

	return flow_reply_to(p, &ends);
}

bool flow_port_is_free(const struct flow_table *t, const struct flow_pkt *p,
	const struct ip_ends *to, rte_be16_t port, uint32_t hash)
{
	const struct flow_pkt reply = reply_to_port(p, to, port);

	return !is_full(t, hash) && !flow_key_is_used(t, hash, &reply.key);
}

// The last word of the key of a reply that goes to another port; an identifier is at both ends.
static uint64_t word_with_port(const struct flow_pkt *reply, rte_be16_t port)
{
	const unsigned int shift = 16 * !reply->dir;
	const uint64_t word = reply->key.q[FLOW_KEY_WORDS - 1];

	if (reply->key.asker != 0)
		return (word & ~(uint64_t)UINT32_MAX) | port | (uint64_t)port << 16;
	return (word & ~((uint64_t)UINT16_MAX << shift)) | (uint64_t)port << shift;
}

void flow_ports_begin(const struct flow_table *t, const struct flow_pkt *p,
	const struct ip_ends *to, const rte_be16_t port[], unsigned int n, uint32_t hash[])
{
	const bool same = ip_addr_equal(&to->src, &to->dst); // the order depends on the ports
	const struct flow_pkt first = reply_to_port(p, to, port[0]);
	struct flow_key key = first.key;

	for (unsigned int i = 0; i < n; i++) {
		if (unlikely(same))
			key = reply_to_port(p, to, port[i]).key;
		else
			key.q[FLOW_KEY_WORDS - 1] = word_with_port(&first, port[i]);
		hash[i] = flow_hash_key(t, &key, p->v4);
		rte_prefetch0(flow_first_bucket(flow_index(t), hash[i]));
	}
}

bool flow_port_look(const struct flow_table *t, uint32_t hash)
{
	const struct bucket *b = flow_first_bucket(flow_index(t), hash);
	const unsigned int tagged = bucket_match(b, tag_of(hash));

	rte_prefetch0(flow_second_bucket(flow_index(t), hash));
	for (unsigned int hits = tagged; hits != 0; hits &= hits - 1) {
		const struct flow *f = flow_at_place(t,
			atomic_load_explicit(&b->place[__builtin_ctz(hits)], memory_order_acquire));

		rte_prefetch0(&f->word);
		rte_prefetch0(&f->key);
		rte_prefetch0(flow_nat(t, f));
	}
	return tagged == 0;
}

void flow_ports_look(const struct flow_table *t, const uint32_t hash[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (bucket_match(flow_first_bucket(flow_index(t), hash[i]), tag_of(hash[i])) == 0) {
			rte_prefetch0(flow_second_bucket(flow_index(t), hash[i]));
			return;
		}
}

unsigned int flow_ports_find(const struct flow_table *t, const uint32_t hash[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!is_tagged(t, hash[i]) && !is_full(t, hash[i]))
			return i;
	return n;
}
