// SPDX-License-Identifier: BSD-3-Clause
#include "audit.h"

// Audited reasons, each with a bit of struct sa_audit. inner: found after decapsulation or before
// encapsulation, so it is about the inner packet, or about one that is never protected. policy:
// only with AUDIT_POLICY.
static const struct {
	uint16_t bit;
	bool inner, policy;
} audited[DROP_COUNT] = {
	[DROP_NO_SA] = {1 << 0},     // RFC 4303 3.4.2
	[DROP_ESP_SHORT] = {1 << 1}, // 2.4, 2.8
	[DROP_REPLAY] = {1 << 2},    // 3.4.3
	[DROP_REPLAY_FORGED] = {1 << 3},
	[DROP_AUTH] = {1 << 4},                                           // 3.4.4
	[DROP_PADDING] = {1 << 5},                                        // 2.4
	[DROP_NEXT_HEADER] = {1 << 6},                                    // 2.6
	[DROP_INNER_HEADER] = {1 << 7},                                   // 3.4.4
	[DROP_ECN] = {1 << 8},                                            // RFC 6040 4.2
	[DROP_SELECTOR] = {1 << 9, .inner = true},                        // RFC 4301 5.2
	[DROP_SEQUENCE_END] = {1 << 10, .inner = true},                   // RFC 4303 3.3.3
	[DROP_POLICY_DISCARD] = {1 << 11, .inner = true, .policy = true}, // RFC 4301 5.1, 5.2
	[DROP_NO_POLICY] = {1 << 12, .inner = true, .policy = true},
	[DROP_CLEAR_TEXT] = {1 << 13, .inner = true, .policy = true},
	[DROP_TUNNEL_SOURCE] = {1 << 14, .inner = true}, // as selector
};

bool audit_wants(enum audit audit, enum drop reason)
{
	return audited[reason].bit != 0 && audit != AUDIT_NONE &&
	       (audit == AUDIT_POLICY || !audited[reason].policy);
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

static void audit_post(struct worker *w, const struct pkt *p, const struct sa *sa, enum drop reason)
{
	const struct sa_per_worker *own = sa != NULL ? &sa->per_worker[w->id] : NULL;
	const struct ip_view v = pkt_view(p);
	struct event e = {.kind = EVENT_AUDIT, .port = pkt_port(w, p)};

	if (!p->own)
		e = worker_event_about(w, p, &v, EVENT_AUDIT);
	if (!p->own && !p->ip.v4)
		e.flow_label = rte_be_to_cpu_32(pkt_ip6(p)->vtc_flow) & RTE_IPV6_HDR_FL_MASK;
	e.reason = (uint8_t)reason;
	e.worker = (uint8_t)w->id;
	e.sa = sa;
	e.count = own != NULL ? sa_dropped(own, reason) : w->counters.drops[reason];
	e.generation = w->snapshot->generation;
	// ESP is opened when it is whole, so a fragment is out of a tunnel. Workers that share
	// tunnels open a packet before its number is accepted.
	e.inner = audited[reason].inner || p->ip.fragment ||
		  (p->ip.proto != IPPROTO_ESP && p->udp_port == 0);
	if (!e.inner) {
		e.spi = pkt_esp(p)->spi;
		e.seq = pkt_esp(p)->seq;
	}
	worker_event_post(w, &e);
}

void audit_drop(struct worker *w, const struct pkt *p, const struct sa *sa, enum drop reason)
{
	struct sa_audit *a = sa != NULL ? &sa->per_worker[w->id].audit : &w->audit;

	// A worker that has not run yet has no snapshot.
	if (audited[reason].bit != 0 && audit_wants(w->snapshot->audit, reason) &&
		is_first_this_second(a, audited[reason].bit, w->now_ms / 1000))
		audit_post(w, p, sa, reason);
}
