// SPDX-License-Identifier: BSD-3-Clause
// Some ports are tried wherever they are: while half of them are in use, one of few is free. When
// nearly all are in use, the counts of blocks tell where the last free ones are.
#include "translate_port.h"

#include <netinet/in.h>

#include "keyed_hash.h"

#define TRIED         16 // ports, before blocks are
#define BLOCKS_TRIED  4  // of which all may be in use, in spite of the count
#define PORT_IKE      500
#define PORT_IKE_NATT 4500

const struct nat_rule translate_no_rule = {
	.random = true, .per_source = UINT32_MAX, .per_peer = UINT32_MAX};

static uint32_t min_of(const struct nat_rule *r)
{
	return r->port_min != 0 ? r->port_min : NAT_PORT_MIN;
}

static uint32_t max_of(const struct nat_rule *r)
{
	return r->port_min != 0 ? r->port_max : UINT16_MAX;
}

static bool is_served(const struct snapshot *s, rte_be16_t port)
{
	return port == RTE_BE16(PORT_IKE) || port == RTE_BE16(PORT_IKE_NATT) ||
	       (s->udp_ports != NULL && snapshot_has_udp_port(s, port));
}

bool translate_port_serves(const struct snapshot *s, const struct ip_addr *own, rte_be16_t port)
{
	return snapshot_has(s, own) && is_served(s, port);
}

static bool may_serve(const struct worker *w, const struct pkt *p, const struct ip_addr *own)
{
	return p->ip.proto == IPPROTO_UDP && snapshot_has(w->snapshot, own);
}

bool translate_serves(
	const struct worker *w, const struct pkt *p, const struct ip_addr *own, rte_be16_t port)
{
	return may_serve(w, p, own) && is_served(w->snapshot, port);
}

// Adds ports from the next one on to the ports that are tried, below the end.
static void add(const struct worker *w, const struct pkt *p, struct port_choice *c, uint32_t end)
{
	const bool may = may_serve(w, p, &w->translating->flow.to.src);

	for (; c->n < FLOW_PORTS_AT_ONCE && c->next < end; c->next++) {
		const rte_be16_t port = rte_cpu_to_be_16((uint16_t)c->next);

		if (!may || !is_served(w->snapshot, port))
			c->port[c->n++] = port;
	}
}

// Whether a free port must not be passed over: the sender chose it, or there are few others.
static bool is_wanted(const struct flow_pkt *fp, const struct port_choice *c, rte_be16_t port)
{
	return port == fp->key.port[fp->dir] || max_of(c->rule) - min_of(c->rule) < FLOW_PORT_BLOCK;
}

// Takes one of the ports that are tried.
static bool take(struct worker *w, const struct flow_pkt *fp, const struct port_choice *c)
{
	struct ip_ends *to = &w->translating->flow.to;
	unsigned int found = flow_ports_find(w->flows, c->hash, c->n);

	for (unsigned int i = 0; i < found; i++)
		if (is_wanted(fp, c, c->port[i]) &&
			flow_port_is_free(w->flows, fp, to, c->port[i], c->hash[i]))
			found = i;
	if (found == c->n)
		return false;
	to->src_port = c->port[found];
	w->translating->flow.hash = c->hash[found];
	if (fp->key.asker != 0) // an identifier, the same at both ends
		to->dst_port = to->src_port;
	return true;
}

// The same, from one port on to the end.
static bool take_of(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct nat_rule *rule, uint32_t first, uint32_t end)
{
	struct port_choice c = {.rule = rule, .next = first};
	bool found = false;

	while (c.next < end && !found) {
		c.n = 0;
		add(w, p, &c, end);
		flow_ports_begin(w->flows, fp, &w->translating->flow.to, c.port, c.n, c.hash);
		found = take(w, fp, &c);
	}
	return found;
}

// The same, of blocks, from that of the port on, as far as the rule has their ports.
static bool take_of_blocks(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct nat_rule *rule, uint32_t port)
{
	const uint32_t min = min_of(rule), max = max_of(rule);
	const uint32_t first = min / FLOW_PORT_BLOCK, last = max / FLOW_PORT_BLOCK;
	uint32_t block = port / FLOW_PORT_BLOCK;
	unsigned int tried = 0;

	for (uint32_t i = first; i <= last && tried < BLOCKS_TRIED; i++) {
		const uint32_t start = block * FLOW_PORT_BLOCK;

		if (max - min < FLOW_PORT_BLOCK ||
			!flow_port_block_is_full(w->flows, w->translating->flow.towards, block)) {
			if (take_of(w, p, fp, rule, RTE_MAX(min, start),
				    RTE_MIN(max + 1, start + FLOW_PORT_BLOCK)))
				return true;
			tried++;
		}
		block = block < last ? block + 1 : first;
	}
	return false;
}

// Some number that nobody outside can foresee.
static uint32_t draw(const struct worker *w, const struct flow_pkt *fp)
{
	const uint64_t word[] = {fp->hash, w->now};

	return (uint32_t)keyed_hash(&w->hash_key, word, RTE_DIM(word));
}

static bool is_of(const struct nat_rule *r, uint32_t port)
{
	return port >= min_of(r) && port <= max_of(r);
}

// The first port that is tried beside the own one.
static uint32_t first_other(
	const struct worker *w, const struct flow_pkt *fp, const struct nat_rule *r)
{
	const uint32_t own = rte_be_to_cpu_16(fp->key.port[fp->dir]), min = min_of(r);

	if (r->random)
		return min + draw(w, fp) % (max_of(r) - min + 1);
	return is_of(r, own + 1) ? own + 1 : min;
}

void translate_port_begin(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct nat_rule *rule, struct port_choice *c)
{
	struct flow_translation *t = &w->translating->flow;
	const uint32_t own = rte_be_to_cpu_16(t->to.src_port);

	t->towards = flow_towards(w->flows, fp, &t->to);
	t->per_source = rule->per_source;
	t->per_peer = rule->per_peer;
	*c = (struct port_choice){.rule = rule, .next = own};
	if (rule->port_min == 0 || is_of(rule, own))
		add(w, p, c, own + 1);
	c->n_own = c->n;
	flow_ports_begin(w->flows, fp, &t->to, c->port, c->n, c->hash);
}

void translate_port_look(
	struct worker *w, const struct pkt *p, const struct flow_pkt *fp, struct port_choice *c)
{
	if (c->rule == NULL || (c->n_own > 0 && flow_port_look(w->flows, c->hash[0])))
		return;
	c->next = first_other(w, fp, c->rule);
	add(w, p, c, max_of(c->rule) + 1);
	flow_ports_begin(w->flows, fp, &w->translating->flow.to, c->port + c->n_own,
		c->n - c->n_own, c->hash + c->n_own);
}

void translate_port_look_again(struct worker *w, const struct port_choice *c)
{
	flow_ports_look(w->flows, c->hash + c->n_own, c->n - c->n_own);
}

// Whether the source, or its peer, has as many ports as the rule allows: the reason that is given
// first.
static bool is_limited(const struct worker *w, const struct pkt *p, const struct flow_pkt *fp)
{
	const struct flow_translation *t = &w->translating->flow;

	return flow_ports_of_source(w->flows, t->towards, &fp->key.addr[fp->dir]) >=
		       t->per_source ||
	       flow_ports_of_holder(w->flows, t->towards, worker_holder(w, p)) >= t->per_peer;
}

enum drop translate_port(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct port_choice *c)
{
	uint32_t next = c->next, end;

	if (c->rule == NULL || take(w, fp, c))
		return DROP_NONE;
	if (c->n == c->n_own) // another worker has taken it
		next = first_other(w, fp, c->rule);
	end = RTE_MIN(max_of(c->rule) + 1, next + TRIED);
	if (take_of(w, p, fp, c->rule, next, end) ||
		take_of_blocks(w, p, fp, c->rule, RTE_MIN(next, max_of(c->rule))))
		return DROP_NONE;
	return is_limited(w, p, fp) ? DROP_NAT_LIMIT : DROP_NAT_PORTS;
}

bool translate_port_is_lost(
	const struct worker *w, const struct flow_pkt *fp, const struct port_choice *c)
{
	const struct flow_translation *t = &w->translating->flow;

	return c->rule != NULL && flow_ports_find(w->flows, &t->hash, 1) != 0 &&
	       !flow_port_is_free(w->flows, fp, &t->to, t->to.src_port, t->hash);
}
