// SPDX-License-Identifier: BSD-3-Clause
#include "output.h"

#include "buffer.h"
#include "error.h"
#include "ip_view.h"
#include "neigh_lookup.h"
#include "pkt_drop.h"
#include "tracepoint.h"

// Limits of one next hop: one that does not answer leaves room for others.
#define HELD_PER_NEXT_MAX 32
#define HELD_SECONDS      5 // longer than the control thread resolves

// A frame in a large buffer, or for a full transmit buffer.
static __rte_noinline void frame_enqueue_unusual(
	struct worker *w, struct rte_mbuf *m, uint16_t port)
{
	struct tx_buffer *tx = &w->tx[port];
	enum drop d;

	if (tx->n == TX_MAX && w->send != NULL)
		w->send(w->sender, port);
	d = tx->n < TX_MAX ? buffer_leave_large(w, &m) : DROP_TX_FULL;
	if (d == DROP_NONE)
		tx->m[tx->n++] = m;
	else
		pkt_drop(w, &(struct pkt){.m = m}, d);
}

static __rte_always_inline void frame_enqueue(struct worker *w, struct rte_mbuf *m, uint16_t port)
{
	struct tx_buffer *tx = &w->tx[port];

	if (unlikely(tx->n == TX_MAX || buffer_is_large(w, m)))
		frame_enqueue_unusual(w, m, port);
	else
		tx->m[tx->n++] = m;
}

void output_frame(struct worker *w, struct rte_mbuf *m, uint16_t port)
{
	frame_enqueue(w, m, port);
}

// An Ethernet header as two words, which overlap, so that it is written without reading back what
// has just been written in smaller parts.
struct header {
	uint64_t front, back; // octets 0 to 7, and 6 to 13
};

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "shifts of struct header");

static __rte_always_inline uint64_t mac_word(const struct rte_ether_addr *mac)
{
	uint32_t low;
	uint16_t high;

	memcpy(&low, mac->addr_bytes, sizeof(low));
	memcpy(&high, mac->addr_bytes + sizeof(low), sizeof(high));
	return (uint64_t)high << 32 | low;
}

// The header of frames with packets of this family to a link address.
static __rte_always_inline struct header header_of(
	const struct worker *w, uint16_t port, const struct rte_ether_addr *mac, bool v4)
{
	const uint64_t src = mac_word(&w->snapshot->port[port].mac);
	const uint64_t type = v4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4) : RTE_BE16(RTE_ETHER_TYPE_IPV6);

	return (struct header){.front = mac_word(mac) | src << 48, .back = src | type << 48};
}

static __rte_always_inline void send_framed(
	struct worker *w, struct rte_mbuf *m, uint16_t port, const struct header *header)
{
	uint8_t *to;

	// There is headroom: every packet had an Ethernet header, or was made here.
	m->data_off = (uint16_t)(m->data_off - sizeof(struct rte_ether_hdr));
	m->data_len = (uint16_t)(m->data_len + sizeof(struct rte_ether_hdr));
	m->pkt_len = m->data_len;
	to = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(to, &header->front, sizeof(header->front));
	memcpy(to + offsetof(struct rte_ether_hdr, src_addr), &header->back, sizeof(header->back));
	frame_enqueue(w, m, port);
}

void output_to(
	struct worker *w, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *mac)
{
	const bool v4 = ip_is_v4(rte_pktmbuf_mtod(m, const void *));
	const struct header header = header_of(w, port, mac, v4);

	send_framed(w, m, port, &header);
}

static struct ip_addr next_address(const struct pkt *p)
{
	if (p->nexthop->kind == NEXTHOP_GATEWAY)
		return p->nexthop->gateway;
	return ip_dst(pkt_ip(p), ip_is_v4(pkt_ip(p)));
}

static void report_unreachable(struct worker *w, const struct pkt *p)
{
	// The inner packet is encrypted by now.
	if (p->sa_out == NULL)
		error_send(w, p, ERROR_NO_HOST, 0);
}

// Drops the oldest packet held for the port that has most of them, if that has more than this one.
// of is how many each port has.
static bool held_evict(struct worker *w, const uint32_t of[PORTS_MAX], uint16_t port)
{
	uint16_t most = 0;
	uint32_t i = 0;

	for (uint16_t p = 1; p < PORTS_MAX; p++)
		if (of[p] > of[most])
			most = p;
	if (of[most] <= of[port] + 1)
		return false;
	while (w->held[i].port != most)
		i++;
	pkt_drop(w, &w->held[i].p, DROP_NEIGH_HOLD_FULL);
	w->n_held--;
	memmove(&w->held[i], &w->held[i + 1], (w->n_held - i) * sizeof(w->held[0]));
	return true;
}

static enum drop packet_hold(struct worker *w, struct pkt *p, const struct ip_addr *next)
{
	struct event e = {.kind = EVENT_NEIGH_NEEDED, .addr = *next, .port = p->nexthop->port};
	uint32_t same = 0, of[PORTS_MAX] = {0};
	enum drop d;

	for (uint32_t i = 0; i < w->n_held; i++) {
		same += ip_addr_equal(&w->held[i].next, next) && w->held[i].port == e.port;
		of[w->held[i].port]++;
	}
	// Posted also if the packet cannot be held: the next one finds the address.
	worker_event_post_share(w, &e, SHARE_RESOLVE);
	if (same == HELD_PER_NEXT_MAX || (w->n_held == w->held_max && !held_evict(w, of, e.port)))
		return DROP_NEIGH_HOLD_FULL;
	d = buffer_leave_large(w, &p->m);
	if (d != DROP_NONE)
		return d;
	p->framed = false;
	w->held[w->n_held++] = (struct held){
		.p = *p,
		.next = *next,
		.until = w->now + HELD_SECONDS * w->tsc_hz,
		.generation = w->snapshot->generation,
		.port = e.port,
	};
	return DROP_NONE;
}

static enum drop output_unresolved(
	struct worker *w, struct pkt *p, const struct ip_addr *next, enum neigh_answer answer)
{
	if (answer == NEIGH_WAIT)
		return packet_hold(w, p, next);
	report_unreachable(w, p);
	return DROP_NEIGH_FAILED;
}

// Consecutive packets of one family to one next hop: mostly all of a burst.
struct run {
	struct ip_addr next; // address of the next hop
	uint32_t sought;     // see neigh_lookup_start()
	uint16_t first;      // place of its first packet
};

// Whether two packets have the same destination.
static __rte_always_inline bool same_destination(const void *a, const void *b)
{
	if (ip_is_v4(a) && ip_is_v4(b))
		return ((const struct rte_ipv4_hdr *)a)->dst_addr ==
		       ((const struct rte_ipv4_hdr *)b)->dst_addr;

	const struct ip_addr a6 = ipv6_dst(a), b6 = ipv6_dst(b);

	return !ip_is_v4(a) && !ip_is_v4(b) && ip_addr_equal(&a6, &b6);
}

// Divides the burst into runs, and starts the lookup of each one's next hop. Returns the end of the
// runs, where there is one that begins after the burst.
static __rte_always_inline struct run *runs_find(
	struct worker *w, const struct burst *b, struct run *r)
{
	const struct nexthop *nexthop = NULL; // of the packet before
	const void *ip = NULL;                // of the first packet of the run
	const uint16_t n = b->n;

	for (uint16_t i = 0; i < n; i++) {
		const struct pkt *p = b->p[i];

		if (p->nexthop == nexthop &&
			(nexthop->kind == NEXTHOP_GATEWAY || same_destination(pkt_ip(p), ip)))
			continue;
		nexthop = p->nexthop;
		ip = pkt_ip(p);
		r->next = next_address(p);
		r->sought = neigh_lookup_start(w->neigh, &w->neigh_hints, nexthop->port, &r->next);
		r->first = i;
		r++;
	}
	r->first = n;
	return r;
}

static __rte_always_inline void run_send(struct worker *w, struct pkt *const p[], uint16_t n,
	uint16_t port, const struct rte_ether_addr *mac)
{
	const struct header header = header_of(w, port, mac, ip_is_v4(pkt_ip(p[0])));

	for (struct pkt *const *end = p + n; p < end; p++)
		send_framed(w, (*p)->m, port, &header);
}

static __rte_noinline void run_unresolved(struct worker *w, struct pkt *const p[], uint16_t n,
	const struct ip_addr *next, enum neigh_answer answer)
{
	for (uint16_t i = 0; i < n; i++) {
		enum drop d = output_unresolved(w, p[i], next, answer);

		if (d != DROP_NONE)
			pkt_drop(w, p[i], d);
	}
}

void output_burst(struct worker *w, struct burst *b)
{
	struct run runs[BURST_MAX + 1];
	const struct run *end = runs_find(w, b, runs);

	for (const struct run *r = runs; r < end; r++) {
		struct pkt *const *p = &b->p[r->first];
		const uint16_t n = (uint16_t)(r[1].first - r->first), port = p[0]->nexthop->port;
		struct rte_ether_addr mac;
		enum neigh_answer answer =
			neigh_lookup(w->neigh, &w->neigh_hints, r->sought, port, &r->next, &mac);

		if (likely(answer == NEIGH_KNOWN))
			run_send(w, p, n, port, &mac);
		else
			run_unresolved(w, p, n, &r->next, answer);
	}
	b->n = 0;
}

__rte_cold void output_burst_traced(struct worker *w, struct burst *b)
{
	uint16_t n = b->n;

	output_burst(w, b);
	trace_output(w, b, n);
}

static enum neigh_answer resolve(
	struct worker *w, uint16_t port, const struct ip_addr *next, struct rte_ether_addr *mac)
{
	uint32_t sought = neigh_lookup_start(w->neigh, &w->neigh_hints, port, next);

	return neigh_lookup(w->neigh, &w->neigh_hints, sought, port, next, mac);
}

bool output_ready(struct worker *w, const struct nexthop *nexthop, const struct ip_addr *dst)
{
	const struct ip_addr *next = nexthop->kind == NEXTHOP_GATEWAY ? &nexthop->gateway : dst;
	struct rte_ether_addr mac;
	enum neigh_answer answer = resolve(w, nexthop->port, next, &mac);

	if (answer == NEIGH_WAIT) {
		struct event e = {.kind = EVENT_NEIGH_NEEDED, .addr = *next, .port = nexthop->port};

		worker_event_post_share(w, &e, SHARE_RESOLVE);
	}
	return answer == NEIGH_KNOWN;
}

// Whether the packet is held any longer.
static bool still_held(struct worker *w, struct held *h)
{
	struct rte_ether_addr mac;
	enum neigh_answer answer = resolve(w, h->port, &h->next, &mac);

	if (answer == NEIGH_KNOWN) {
		output_to(w, h->p.m, h->port, &mac);
		trace_note(w, &h->p, TRACE_SENT,
			(struct trace_fact){.port = h->port + 1, .next = &h->next});
		return false;
	}
	if (answer == NEIGH_WAIT && w->now < h->until)
		return true;
	// The packet's pointers are valid only with the snapshot that it was held under.
	if (h->generation == w->snapshot->generation)
		report_unreachable(w, &h->p);
	pkt_drop(w, &h->p, DROP_NEIGH_FAILED);
	return false;
}

void output_held(struct worker *w)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->n_held; i++)
		if (still_held(w, &w->held[i]))
			w->held[kept++] = w->held[i];
	w->n_held = kept;
}
