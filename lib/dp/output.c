// SPDX-License-Identifier: BSD-3-Clause
#include "output.h"

#include "buffer.h"
#include "error.h"
#include "ip_view.h"
#include "neigh_lookup.h"
#include "pkt_drop.h"
#include "tracepoint.h"
#include "translate.h"

// Limits of one next hop: one that does not answer leaves room for others. Packets that were held
// for their group do not count: the next hops of a standby gateway are not resolved.
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

void output_frame(struct worker *w, struct rte_mbuf *m, uint16_t port)
{
	struct tx_buffer *tx = &w->tx[port];

	if (unlikely(tx->n == TX_MAX || buffer_is_large(w, m)))
		frame_enqueue_unusual(w, m, port);
	else
		tx->m[tx->n++] = m;
}

// An Ethernet header as two words, which overlap, so that it is written without a load of octets
// that were just stored in smaller parts.
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

// The header of frames with packets of a family from one link address, a mac_word(), to another.
static __rte_always_inline struct header header_of(
	uint64_t src, const struct rte_ether_addr *dst, bool v4)
{
	uint64_t type = RTE_BE16(RTE_ETHER_TYPE_IPV4);

	if (unlikely(!v4))
		type = RTE_BE16(RTE_ETHER_TYPE_IPV6);
	return (struct header){.front = mac_word(dst) | src << 48, .back = src | type << 48};
}

static __rte_always_inline uint64_t own_mac(const struct worker *w, uint16_t port)
{
	return mac_word(&w->snapshot->port[port].mac);
}

// Puts the header in front of a packet. There is headroom: every packet had an Ethernet header, or
// was made here.
static __rte_always_inline void header_add(struct rte_mbuf *m, const struct header *header)
{
	uint8_t *frame;

	m->data_off = (uint16_t)(m->data_off - sizeof(struct rte_ether_hdr));
	m->data_len = (uint16_t)(m->data_len + sizeof(struct rte_ether_hdr));
	m->pkt_len += (uint32_t)sizeof(struct rte_ether_hdr);
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(frame, &header->front, sizeof(header->front));
	memcpy(frame + sizeof(struct rte_ether_hdr) - sizeof(header->back), &header->back,
		sizeof(header->back));
}

void output_from(struct worker *w, struct rte_mbuf *m, uint16_t port,
	const struct rte_ether_addr *src, const struct rte_ether_addr *dst)
{
	const bool v4 = ip_is_v4(rte_pktmbuf_mtod(m, const void *));
	const struct header header = header_of(mac_word(src), dst, v4);

	header_add(m, &header);
	output_frame(w, m, port);
}

void output_to(
	struct worker *w, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *mac)
{
	output_from(w, m, port, &w->snapshot->port[port].mac, mac);
}

static void report_unreachable(struct worker *w, const struct pkt *p)
{
	// The inner packet is encrypted by now.
	if (p->sa_out == NULL)
		error_send(w, p, ERROR_NO_HOST, 0);
}

static uint16_t index_of_most(const uint32_t of[], uint16_t n)
{
	uint16_t most = 0;

	for (uint16_t i = 1; i < n; i++)
		if (of[i] > of[most])
			most = i;
	return most;
}

// Drops a held packet to make room: the oldest of the largest holder of the port with most held
// packets, if that port has more than this one; else of this port, if its largest holder has more
// than this one. of is the number for each port.
static bool held_evict(
	struct worker *w, const uint32_t of[PORTS_MAX], uint16_t port, uint16_t holder)
{
	uint32_t by[WORKER_HOLDERS] = {0}, i = 0;
	uint16_t from = index_of_most(of, PORTS_MAX), most;

	if (of[from] <= of[port] + 1)
		from = port;
	for (uint32_t k = 0; k < w->n_held; k++)
		by[w->held[k].holder] += !w->held[k].p.released && w->held[k].port == from;
	most = index_of_most(by, WORKER_HOLDERS);
	if (from == port && by[most] <= by[holder] + 1)
		return false;
	while (w->held[i].p.released || w->held[i].port != from || w->held[i].holder != most)
		i++;
	pkt_drop(w, &w->held[i].p, w->held[i].spi != 0 ? DROP_NO_SA : DROP_NEIGH_HOLD_FULL);
	w->n_held--;
	memmove(&w->held[i], &w->held[i + 1], (w->n_held - i) * sizeof(w->held[0]));
	return true;
}

// Whether there is room for another packet, perhaps after a held one was dropped.
static bool make_room(struct worker *w, const struct pkt *p, const struct ip_addr *next,
	uint16_t port, uint16_t holder)
{
	uint32_t usual = 0, same = 0, of[PORTS_MAX] = {0};

	for (uint32_t i = 0; i < w->n_held; i++) {
		const struct held *h = &w->held[i];

		if (h->p.released)
			continue;
		usual++;
		same += h->spi == 0 && ip_addr_equal(&h->next, next) && h->port == port;
		of[h->port]++;
	}
	if (p->released)
		return w->n_held - usual < w->released_max;
	return same < HELD_PER_NEXT_MAX && (usual < w->held_max || held_evict(w, of, port, holder));
}

static enum drop packet_hold(struct worker *w, struct pkt *p, const struct ip_addr *next)
{
	struct event e = {.kind = EVENT_NEIGH_NEEDED,
		.addr = *next,
		.port = p->nexthop->iface,
		.holder = worker_holder(w, p)};
	const uint16_t holder = worker_holder_cell(w, e.holder);
	enum drop d;

	// Posted also if the packet cannot be held: the next one finds the address.
	worker_event_post_share(w, &e, SHARE_RESOLVE);
	if (!make_room(w, p, next, e.port, holder))
		return DROP_NEIGH_HOLD_FULL;
	d = buffer_leave_large(w, &p->m);
	if (d != DROP_NONE)
		return d;
	p->framed = false;
	w->held[w->n_held] = (struct held){
		.p = *p,
		.next = *next,
		.until = w->now + HELD_SECONDS * w->tsc_hz,
		.generation = w->snapshot->generation,
		.port = e.port,
		.holder = holder,
	};
	translate_hold(w, &w->held[w->n_held++]);
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
	uint16_t port;       // egress port
	bool v4; // family of the packets: that of the next hop may be another (RFC 8950)
};

#define NOT_V4 UINT64_MAX // no IPv4 address

// Divides the burst into runs, and starts the lookup of each one's next hop. Returns the end of the
// runs, where there is one that begins after the burst.
static __rte_always_inline struct run *runs_find(
	struct worker *w, const struct burst *b, struct run *r)
{
	// Values of the previous packet:
	const struct nexthop *nexthop = NULL;
	bool by_gateway = false;
	uint64_t v4_dst = NOT_V4;
	const unsigned int n = b->n;

	for (unsigned int i = 0; i < n; i++) {
		const struct pkt *p = b->p[i];
		const void *ip = pkt_ip(p);

		if (likely(p->nexthop == nexthop)) {
			if (by_gateway)
				continue;
			if (likely(ip_is_v4(ip))) {
				if (((const struct rte_ipv4_hdr *)ip)->dst_addr == v4_dst)
					continue;
			} else if (v4_dst == NOT_V4) {
				const struct ip_addr dst = ipv6_dst(ip);

				if (ip_addr_equal(&dst, &r[-1].next))
					continue;
			}
		}
		nexthop = p->nexthop;
		by_gateway = nexthop->kind == NEXTHOP_GATEWAY;
		r->v4 = ip_is_v4(ip);
		v4_dst = r->v4 ? ((const struct rte_ipv4_hdr *)ip)->dst_addr : NOT_V4;
		r->next = by_gateway ? nexthop->gateway : ip_dst(ip, r->v4);
		r->port = nexthop->iface;
		r->sought = neigh_lookup_start(w->neigh, &w->neigh_hints, r->port, &r->next);
		r->first = (uint16_t)i;
		r++;
	}
	r->first = (uint16_t)n;
	return r;
}

// The port that runs are sent on, mostly one for all of a burst: its fields for frames, in
// variables, so that it is not read again after each write to a packet.
struct egress {
	uint16_t port;
	uint64_t src; // its own link address
	struct tx_buffer *tx;
	struct rte_mbuf **to;   // the next place there
	struct rte_mbuf **full; // the end of the places
};

static __rte_always_inline struct egress egress_begin(struct worker *w, uint16_t port)
{
	struct tx_buffer *tx = &w->tx[port];

	return (struct egress){port, own_mac(w, port), tx, &tx->m[tx->n], &tx->m[TX_MAX]};
}

static __rte_always_inline void egress_end(const struct egress *e)
{
	e->tx->n = (uint16_t)(e->to - e->tx->m);
}

// A frame in a large buffer, or for a full transmit buffer. Returns the next place there.
static __rte_noinline struct rte_mbuf **egress_unusual(
	struct worker *w, struct rte_mbuf *m, uint16_t port, struct rte_mbuf **to)
{
	struct tx_buffer *tx = &w->tx[port];

	tx->n = (uint16_t)(to - tx->m);
	frame_enqueue_unusual(w, m, port);
	return &tx->m[tx->n];
}

static __rte_always_inline void frame_send(struct worker *w, struct egress *e, struct rte_mbuf *m,
	const struct rte_mempool *ordinary, const struct header *header)
{
	header_add(m, header);
	if (likely(e->to < e->full) && likely(m->pool == ordinary))
		*e->to++ = m;
	else
		e->to = egress_unusual(w, m, e->port, e->to);
}

// The first packet on its own: with many next hops, nearly every run ends with it.
static __rte_always_inline void run_send(struct worker *w, struct egress *e, struct pkt *const *p,
	struct pkt *const *end, const struct header *header)
{
	const struct rte_mempool *ordinary = w->pool;

	frame_send(w, e, p[0]->m, ordinary, header);
	while (++p < end)
		frame_send(w, e, p[0]->m, ordinary, header);
}

static __rte_noinline void run_unresolved(
	struct worker *w, const struct burst *b, const struct run *r, enum neigh_answer answer)
{
	for (uint16_t i = r->first; i < r[1].first; i++) {
		enum drop d = output_unresolved(w, b->p[i], &r->next, answer);

		if (d != DROP_NONE)
			pkt_drop(w, b->p[i], d);
	}
}

void output_send(struct worker *w, struct burst *b)
{
	struct run runs[BURST_MAX + 1];
	const struct run *end;
	struct egress e;

	if (b->n == 0)
		return;
	end = runs_find(w, b, runs);
	e = egress_begin(w, runs->port);
	for (const struct run *r = runs; r < end; r++) {
		struct rte_ether_addr mac;
		enum neigh_answer answer =
			neigh_lookup(w->neigh, &w->neigh_hints, r->sought, r->port, &r->next, &mac);

		if (unlikely(answer != NEIGH_KNOWN)) {
			run_unresolved(w, b, r, answer);
			continue;
		}
		if (unlikely(r->port != e.port)) {
			egress_end(&e);
			e = egress_begin(w, r->port);
		}

		const struct header header = header_of(e.src, &mac, r->v4);

		run_send(w, &e, &b->p[r->first], &b->p[r[1].first], &header);
	}
	egress_end(&e);
	b->n = 0;
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
	enum neigh_answer answer = resolve(w, nexthop->iface, next, &mac);

	if (answer == NEIGH_WAIT) {
		struct event e = {.kind = EVENT_NEIGH_NEEDED,
			.addr = *next,
			.port = nexthop->iface,
			.holder = NEIGH_HOLDER_OWN};

		worker_event_post_share(w, &e, SHARE_RESOLVE);
	}
	return answer == NEIGH_KNOWN;
}

// Of the packet as it is to be sent.
static bool is_from_standby(const struct worker *w, const struct pkt *p)
{
	const void *ip = pkt_ip(p);
	const struct ip_addr src = ip_src(ip, ip_is_v4(ip));

	return dad_is_standby(w->dad, &src);
}

// Whether the packet is held any longer.
static bool still_held(struct worker *w, const struct held *h)
{
	struct rte_ether_addr mac;
	enum neigh_answer answer;

	if (is_from_standby(w, &h->p)) { // another gateway may be the active one by now
		pkt_drop(w, &h->p, DROP_STANDBY);
		return false;
	}
	answer = resolve(w, h->port, &h->next, &mac);
	if (answer == NEIGH_KNOWN) {
		output_to(w, h->p.m, h->port, &mac);
		trace_note(w, &h->p, TRACE_SENT,
			(struct trace_fact){.port = h->port + 1, .next = &h->next});
		return false;
	}
	if (answer == NEIGH_WAIT && w->now < h->until)
		return true;
	// The packet's pointers are valid only with the snapshot that it was held under.
	w->failed = h;
	if (h->generation == w->snapshot->generation)
		report_unreachable(w, &h->p);
	w->failed = NULL;
	pkt_drop(w, &h->p, DROP_NEIGH_FAILED);
	return false;
}

void output_held(struct worker *w, output_early_fn *early, uint16_t room)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->n_held; i++)
		if (w->held[i].spi != 0 ? early(w, &w->held[i], room) : still_held(w, &w->held[i]))
			w->held[kept++] = w->held[i];
	w->n_held = kept;
}
