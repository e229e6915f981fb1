// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

#include <netinet/in.h>

#define PEER_PART 4 // of the limit that all peers together have in established connections
// Packets for the host at once: a part of a second's, not much more than its ring holds.
#define NEW_BURST      64
#define NEW_BURST_MIN  32
#define OPEN_BURST     16
#define OPEN_BURST_MIN 128

#define BOTH_ACKED (FLOW_ACK(0) | FLOW_ACK(1))

// Whether both ends use the flow: a stranger with a forged source cannot bring one of TCP so far,
// and one of UDP only if the host answers it for seconds.
static bool is_open(const struct flow *f)
{
	const uint32_t word = flow_word(f);
	const enum flow_state state = flow_word_state(word);

	if (f->key.proto == IPPROTO_TCP)
		return (word & BOTH_ACKED) == BOTH_ACKED;
	return flow_state_info[state].class == FLOW_CLASS_ESTABLISHED && state != FLOW_UDP_REPLIED;
}

static uint8_t share_of_rule(const struct worker *w, uint32_t rule)
{
	if (rule == 0)
		return HOST_OWN;
	return (uint8_t)RTE_MIN(
		HOST_RULES + rule_set_numbered(w->snapshot->rules, rule)->place, HOST_SHARES - 1u);
}

struct host_limit host_limit_of(
	const struct worker *w, const struct flow_pkt *fp, const struct flow *f, uint32_t rule)
{
	if (fp->icmp_error)
		return (struct host_limit){HOST_NEW, HOST_UNASKED};
	return (struct host_limit){
		f != NULL && is_open(f) ? HOST_OPEN : HOST_NEW, share_of_rule(w, rule)};
}

struct host_limit host_limit_sent(const struct worker *w, const struct pkt *p)
{
	struct flow_decision begun;
	struct host_limit limit;
	struct flow_pkt fp;
	uint32_t rule = 0;
	struct flow *f;

	if (p->ip.fragment || flow_pkt_read(&fp, pkt_ip(p), &p->ip) != DROP_NONE)
		return (struct host_limit){HOST_SENT_NEW, HOST_OWN};
	flow_lookup_start(w->flows, &fp);
	f = flow_find(w->flows, &fp);
	if (f != NULL && flow_word_initiator(flow_word(f)) != fp.dir &&
		flow_decision_get(f, !fp.dir, w->snapshot->flow_generation, &begun))
		rule = begun.by.rule;
	limit = host_limit_of(w, &fp, f, rule);
	limit.class = limit.class == HOST_OPEN ? HOST_SENT_OPEN : HOST_SENT_NEW;
	return limit;
}

static struct rate_bucket *bucket_of(struct worker *w, const struct pkt *p, struct host_limit limit)
{
	return p->sa_in != NULL ? &p->sa_in->sa.per_worker[w->id].host[limit.class]
				: &w->host[pkt_port(w, p)][limit.class][limit.share];
}

// The bucket of the packet's sender: of an address, or of an IPv6 network, as its hosts choose
// addresses freely. NULL: the sender has no part of its own.
static struct rate_bucket *peer_bucket(
	struct worker *w, const struct pkt *p, struct host_limit limit)
{
	const struct ip_addr src = pkt_src(p);
	uint64_t word[2];

	if (limit.class != HOST_OPEN || p->sa_in != NULL)
		return NULL;
	memcpy(word, &src, sizeof(word));
	if (!ip_addr_is_v4(&src) && !ip_addr_is_link_local(&src))
		word[1] = 0;
	return &w->host_peers[pkt_port(w, p)][keyed_hash(&w->hash_key, word, 2) % HOST_PEERS];
}

// New connections come to all workers, but one thread takes them, and one worker the answers: the
// workers divide the rate.
static uint32_t rate_of(const struct worker *w, enum host_class class)
{
	uint32_t rate = atomic_load_explicit(&w->host_per_second, memory_order_relaxed);

	return class == HOST_NEW ? RTE_MAX(rate / RTE_MAX(w->n_workers, 1u), 1u) : rate;
}

static uint32_t burst_of(enum host_class class, uint32_t rate)
{
	switch (class) {
	case HOST_NEW:
		return RTE_MAX(rate / NEW_BURST, (uint32_t)NEW_BURST_MIN);
	case HOST_OPEN:
		return RTE_MAX(rate / OPEN_BURST, (uint32_t)OPEN_BURST_MIN);
	default:
		return rate;
	}
}

// The bucket of a packet.
struct buckets {
	struct rate_bucket *all, *peer; // peer: see peer_bucket()
};

static struct buckets buckets_of(struct worker *w, const struct pkt *p, struct host_limit limit)
{
	return (struct buckets){bucket_of(w, p, limit), peer_bucket(w, p, limit)};
}

static bool have_tokens(const struct worker *w, const struct buckets *b, enum host_class class)
{
	const uint32_t rate = rate_of(w, class), burst = burst_of(class, rate);

	if (b->peer != NULL &&
		!worker_has_token(w, b->peer, RTE_MAX(rate / PEER_PART, 1u), burst / PEER_PART))
		return false;
	return worker_has_token(w, b->all, rate, burst);
}

bool host_has_token(struct worker *w, const struct pkt *p, struct host_limit limit)
{
	const struct buckets b = buckets_of(w, p, limit);

	return have_tokens(w, &b, limit.class);
}

bool host_take_token(struct worker *w, const struct pkt *p, struct host_limit limit)
{
	const struct buckets b = buckets_of(w, p, limit);

	if (!have_tokens(w, &b, limit.class))
		return false;
	if (b.peer != NULL)
		b.peer->tokens -= w->tsc_hz;
	b.all->tokens -= w->tsc_hz;
	return true;
}
