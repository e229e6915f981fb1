// SPDX-License-Identifier: BSD-3-Clause
#include "audit.h"

// Audited reasons, each with a bit of struct sa_audit.
enum {
	BIT_NO_SA = 1 << 0,
	BIT_ESP_SHORT = 1 << 1,
	BIT_REPLAY = 1 << 2,
	BIT_AUTH = 1 << 3,
	BIT_PADDING = 1 << 4,
	BIT_NEXT_HEADER = 1 << 5,
	BIT_INNER_HEADER = 1 << 6,
	BIT_ECN = 1 << 7,
	BIT_SELECTOR = 1 << 8,
	BIT_SEQUENCE_END = 1 << 9,
	BIT_POLICY_DISCARD = 1 << 10,
	BIT_NO_POLICY = 1 << 11,
	BIT_CLEAR_TEXT = 1 << 12,
	BIT_REPLAY_FORGED = 1 << 13,
};

#define POLICY_BITS (BIT_POLICY_DISCARD | BIT_NO_POLICY | BIT_CLEAR_TEXT)

static const uint16_t wanted[] = {
	[AUDIT_NONE] = 0,
	[AUDIT_ESP] = (uint16_t)~POLICY_BITS,
	[AUDIT_POLICY] = UINT16_MAX,
};

static const uint16_t audited[DROP_COUNT] = {
	[DROP_NO_SA] = BIT_NO_SA,         // RFC 4303 3.4.2
	[DROP_ESP_SHORT] = BIT_ESP_SHORT, // 2.4, 2.8
	[DROP_REPLAY] = BIT_REPLAY,       // 3.4.3
	[DROP_REPLAY_FORGED] = BIT_REPLAY_FORGED,
	[DROP_AUTH] = BIT_AUTH,                     // 3.4.4
	[DROP_PADDING] = BIT_PADDING,               // 2.4
	[DROP_NEXT_HEADER] = BIT_NEXT_HEADER,       // 2.6
	[DROP_INNER_HEADER] = BIT_INNER_HEADER,     // 3.4.4
	[DROP_ECN] = BIT_ECN,                       // RFC 6040 4.2
	[DROP_SELECTOR] = BIT_SELECTOR,             // RFC 4301 5.2
	[DROP_SEQUENCE_END] = BIT_SEQUENCE_END,     // RFC 4303 3.3.3
	[DROP_POLICY_DISCARD] = BIT_POLICY_DISCARD, // RFC 4301 5.1, 5.2
	[DROP_NO_POLICY] = BIT_NO_POLICY,
	[DROP_CLEAR_TEXT] = BIT_CLEAR_TEXT,
};

bool audit_wants(enum audit audit, enum drop reason)
{
	return (audited[reason] & wanted[audit]) != 0;
}

// Whether this is the first drop for the reason in this second.
static bool is_first_this_second(struct sa_audit *a, uint16_t bit, uint32_t second)
{
	if (a->second != second)
		*a = (struct sa_audit){.second = second};
	if ((a->reported & bit) != 0)
		return false;
	a->reported |= bit;
	return true;
}

// A reason found after decapsulation or before encapsulation is about the inner packet, or about
// one that is never protected.
static bool is_inner(enum drop reason)
{
	return (audited[reason] & (BIT_SELECTOR | BIT_SEQUENCE_END | POLICY_BITS)) != 0;
}

static void event_set_packet(struct event *e, const struct pkt *p)
{
	const struct ip_view v = pkt_view(p);

	e->addr = v.src;
	e->peer = v.dst;
	e->proto = v.proto;
	e->addr_port = v.src_port;
	e->peer_port = v.dst_port;
	if (!p->ip.v4)
		e->flow_label = rte_be_to_cpu_32(pkt_ip6(p)->vtc_flow) & RTE_IPV6_HDR_FL_MASK;
}

static void audit_post(struct worker *w, const struct pkt *p, const struct sa *sa, enum drop reason)
{
	const struct sa_counters *c = sa != NULL ? &sa->counters[w->id] : NULL;
	struct event e = {
		.kind = EVENT_AUDIT,
		.port = p->port,
		.reason = (uint8_t)reason,
		.worker = (uint8_t)w->id,
		.sa = sa,
		.count = c != NULL ? sa_dropped(c, reason) : w->counters.drops[reason],
		.generation = w->snapshot->generation,
	};

	if (!p->own)
		event_set_packet(&e, p);
	e.inner = is_inner(reason);
	if (!e.inner) {
		e.spi = pkt_esp(p)->spi;
		e.seq = pkt_esp(p)->seq;
	}
	worker_event_post(w, &e);
}

void audit_drop(struct worker *w, const struct pkt *p, const struct sa *sa, enum drop reason)
{
	struct sa_audit *a = sa != NULL ? &sa->counters[w->id].audit : &w->audit;
	uint16_t bit = audited[reason];

	if (bit != 0 && audit_wants(w->snapshot->audit, reason) &&
		is_first_this_second(a, bit, w->now_ms / 1000))
		audit_post(w, p, sa, reason);
}
