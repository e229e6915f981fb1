// SPDX-License-Identifier: BSD-3-Clause
#include "tracepoint.h"

#include <stdio.h>

static_assert(PKTS_MAX < TRACE_LOGGED, "numbers of packets");

static void buffer_read(struct trace_step *s, const struct pkt *p)
{
	const uint8_t *data = rte_pktmbuf_mtod(p->m, const uint8_t *);
	struct rte_ether_hdr eth;

	switch ((enum trace_kind)s->kind) {
	case TRACE_INPUT:
		trace_header_read_frame(&s->header, data, rte_pktmbuf_data_len(p->m));
		break;
	case TRACE_SENT:
	case TRACE_ANSWERED:
		memcpy(&eth, data, sizeof(eth));
		s->mac = eth.dst_addr;
		break;
	case TRACE_COMPLETED: // as received
	case TRACE_TAKEN:
	case TRACE_HELD:
	case TRACE_DROPPED: // it may be anything by now
		break;
	default:
		trace_header_read_ip(&s->header, data, rte_pktmbuf_data_len(p->m));
	}
}

static const char *name_of(const struct pkt *p, const struct trace_fact *fact)
{
	if (fact->name != NULL)
		return fact->name;
	if (drop_info[fact->reason].scope != DROP_SCOPE_SA)
		return "";
	if (p->sa_out != NULL)
		return p->sa_out->sa.live.name;
	return p->sa_in != NULL ? p->sa_in->sa.live.name : "";
}

static void step_fill(struct trace_step *s, const struct worker *w, const struct pkt *p,
	enum trace_kind kind, const struct trace_fact *fact)
{
	*s = (struct trace_step){
		.tsc = rte_rdtsc(),
		.worker = (uint8_t)w->id,
		.kind = (uint8_t)kind,
		.reason = (uint8_t)fact->reason,
		.len = (uint16_t)RTE_MIN(rte_pktmbuf_pkt_len(p->m), (uint32_t)UINT16_MAX),
		.before = fact->before,
		.port = fact->port != 0 ? (uint16_t)(fact->port - 1) : TRACE_NO_PORT,
		.mtu = fact->mtu,
		.pieces = fact->pieces,
		.seq = fact->seq,
	};
	if (fact->next != NULL)
		s->next = *fact->next;
	snprintf(s->name, sizeof(s->name), "%s", name_of(p, fact));
	buffer_read(s, p);
}

// The packet of a frame that its port has not accepted: the last one in that buffer, for a datagram
// may be in the buffer of its first fragment.
static uint16_t unsent(const struct worker *w, const struct pkt *p, const struct trace_fact *fact)
{
	for (unsigned int i = w->n_pkts; fact->reason == DROP_TX_FULL && i > 0; i--)
		if (w->pkt[i - 1].m == p->m)
			return w->pkt[i - 1].trace;
	return 0;
}

void trace_record(
	struct worker *w, const struct pkt *p, enum trace_kind kind, const struct trace_fact *fact)
{
	uint16_t id = p->trace != 0 ? p->trace : unsent(w, p, fact);
	struct trace_step s;

	if (id == 0)
		return;
	step_fill(&s, w, p, kind, fact);
	trace_step_add(w->tracing, w->id, id, &s);
}

bool trace_pass_begin(struct worker *w)
{
	w->tracing = atomic_load_explicit(&w->trace, memory_order_acquire);
	if (w->tracing == NULL)
		return false;
	if (trace_pass_start(w->tracing, w->id))
		for (uint32_t i = 0; i < w->n_held; i++)
			w->held[i].p.trace = 0;
	memset(w->pkt, 0, FRAGMENTS_MAX * sizeof(w->pkt[0])); // no fragments yet
	return true;
}

static void packet_begin(
	struct worker *w, struct pkt *p, enum trace_kind kind, const struct trace_fact *fact)
{
	p->trace = trace_packet_add(w->tracing, w->id);
	if (p->trace != 0)
		trace_record(w, p, kind, fact);
}

void trace_received(struct worker *w, struct pkt *p)
{
	packet_begin(w, p, TRACE_INPUT, &(struct trace_fact){.port = pkt_port(w, p) + 1});
	if ((p->m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE)
		trace_record(w, p, TRACE_COMPLETED, &(struct trace_fact){0});
}

void trace_from_host(struct worker *w, struct pkt *p)
{
	packet_begin(w, p, TRACE_FROM_HOST, &(struct trace_fact){.port = pkt_port(w, p) + 1});
}

void trace_hand(struct worker *w, struct handed *h, const struct pkt *p)
{
	h->trace = 0;
	h->p.trace = 0;
	if (w->tracing != NULL && p->trace != 0)
		h->p.trace =
			trace_packet_hand(w->tracing, w->id, p->trace, &h->trace, &h->trace_keys);
}

void trace_take(struct worker *w, struct pkt *p, const struct handed *h)
{
	struct trace *t = atomic_load_explicit(&w->trace, memory_order_acquire);

	if (w->tracing != NULL) {
		p->trace =
			trace_packet_take(w->tracing, w->id, h->p.trace, h->trace, h->trace_keys);
		return;
	}
	if (t != NULL)
		trace_packet_abandon(t, h->p.trace, h->trace);
	p->trace = 0;
}

void trace_continued(struct worker *w, struct pkt *p, const struct handed *h)
{
	trace_take(w, p, h);
	if (p->trace != 0)
		trace_record(w, p, TRACE_CONTINUED, &(struct trace_fact){0});
}

void trace_originated(struct worker *w, struct burst *b)
{
	for (uint16_t i = 0; i < b->n; i++)
		packet_begin(w, b->p[i], TRACE_MADE, &(struct trace_fact){0});
}

void trace_burst(struct worker *w, const struct burst *b, enum trace_kind kind)
{
	for (uint16_t i = 0; i < b->n; i++) {
		const struct pkt *p = b->p[i];
		const char *sa = kind == TRACE_SA_FOUND ? p->sa_in->sa.live.name : NULL;

		trace_record(w, p, kind, &(struct trace_fact){.name = sa});
	}
}

void trace_policy(struct worker *w, const struct pkt *p, const struct spd_policy *policy)
{
	static const enum trace_kind kind[] = {
		[SPD_PROTECT] = TRACE_POLICY_PROTECT,
		[SPD_BYPASS] = TRACE_POLICY_BYPASS,
		[SPD_DISCARD] = TRACE_POLICY_DISCARD,
	};

	if (policy == NULL)
		trace_record(w, p, TRACE_POLICY_NONE, &(struct trace_fact){0});
	else
		trace_record(
			w, p, kind[policy->action], &(struct trace_fact){.name = policy->name});
}

void trace_flow(struct worker *w, const struct pkt *p, const struct flow *f, union flow_deciders by)
{
	bool inbound = p->sa_in != NULL || pkt_iface(w, p)->unprotected;

	trace_record(w, p, TRACE_FLOW_KNOWN,
		&(struct trace_fact){.name = flow_state_info[flow_word_state(flow_word(f))].name});
	if (inbound)
		trace_policy(w, p, snapshot_policy(w->snapshot, by.in));
	if (!inbound || p->sa_out != NULL)
		trace_policy(w, p, snapshot_policy(w->snapshot, by.out));
}

void trace_opened(struct worker *w, const struct pkt *p, uint64_t seq)
{
	trace_record(w, p, TRACE_OPENED,
		&(struct trace_fact){.name = p->sa_in->sa.live.name, .seq = seq});
}

void trace_sealed(struct worker *w, const struct pkt *p, uint64_t seq, uint16_t before)
{
	trace_record(w, p, TRACE_SEALED,
		&(struct trace_fact){
			.name = p->sa_out->sa.live.name, .seq = seq, .before = before});
}

static bool was_sent(const struct worker *w, const struct pkt *p, uint16_t port)
{
	const struct tx_buffer *tx = &w->tx[port];

	for (uint16_t i = tx->n; i > 0; i--)
		if (tx->m[i - 1] == p->m)
			return true;
	return false;
}

static const struct held *was_held(const struct worker *w, const struct pkt *p)
{
	for (uint32_t i = w->n_held; i > 0; i--)
		if (w->held[i - 1].p.m == p->m)
			return &w->held[i - 1];
	return NULL;
}

void trace_output(struct worker *w, const struct burst *b, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		const struct pkt *p = b->p[i];
		const struct held *held = was_held(w, p);
		struct trace_fact fact = {.port = p->nexthop->iface + 1};

		if (held != NULL)
			fact.next = &held->next;
		else if (p->nexthop->kind == NEXTHOP_GATEWAY)
			fact.next = &p->nexthop->gateway;
		if (held != NULL || was_sent(w, p, p->nexthop->iface))
			trace_record(w, p, held != NULL ? TRACE_HELD : TRACE_SENT, &fact);
	}
}

void trace_pass_end(struct worker *w)
{
	struct trace *t = w->tracing;
	uint32_t held = 0;

	trace_pass_log(t, w->id);
	for (uint32_t i = 0; i < w->n_pkts; i++)
		w->pkt[i].trace = trace_packet_after(t, w->id, w->pkt[i].trace);
	for (uint32_t i = 0; i < w->n_held; i++) {
		struct pkt *p = &w->held[i].p;

		p->trace = trace_packet_after(t, w->id, p->trace);
		held += p->trace != 0;
	}
	trace_pass_finish(t, w->id, held);
}
