// SPDX-License-Identifier: BSD-3-Clause
// Which policies apply to a packet (RFC 4301 5.1, 5.2), and their look-up for the packets of a
// burst at once. Workers.
#pragma once

#include "worker.h"

// A packet to an unprotected port crosses the boundary once more, also from one tunnel into
// another.
static inline bool policy_goes_outside(const struct worker *w, const struct pkt *p)
{
	return !nexthop_leads_on(p->nexthop) || w->snapshot->iface[p->nexthop->iface].unprotected;
}

// Whether the packet is subject to inbound and to outbound policy. p->nexthop is known.
static inline bool policy_is_inbound(const struct worker *w, const struct pkt *p)
{
	const struct iface *by = pkt_iface(w, p);

	return p->sa_in != NULL || (by->unprotected && !by->is_host);
}

static inline bool policy_is_outbound(const struct worker *w, const struct pkt *p)
{
	if (pkt_is_local(p))
		return false;
	if (pkt_goes_into_tunnel(p))
		return true;
	if (p->sa_in != NULL || pkt_iface(w, p)->is_host)
		return policy_goes_outside(w, p);
	// Inbound policy knows a packet in clear by the ends that it was received with.
	return !policy_is_inbound(w, p) || (worker_translates(w) && policy_goes_outside(w, p));
}

// The policies that match a packet, inbound and outbound; NULL: none matches, or none applies. Of a
// packet out of a tunnel that routes lead into, or that is routed into one, the tunnel itself.
struct policies {
	const struct spd_policy *in, *out;
	// On the route to the source, for inbound policy; NULL: there is none, or none applies.
	const struct nexthop *back;
};

#define POLICY_KEYS_MAX (2 * RX_BURST_MAX)

// A search for policies of several packets: one lookup for all costs a fraction.
struct policy_search {
	unsigned int n;
	struct classifier_key key[POLICY_KEYS_MAX];
	const struct spd_policy **found[POLICY_KEYS_MAX];
};

// Adds a packet, at most RX_BURST_MAX, with its translation of this moment. back: the route to the
// source that it was received with. *found is valid after policy_search_end().
void policy_search_add(const struct worker *w, const struct pkt *p, const struct nexthop *back,
	struct policy_search *s, struct policies *found);
void policy_search_end(const struct snapshot *snapshot, const struct policy_search *s);

// The same for n packets, at most RX_BURST_MAX, with the routes to their sources.
void policy_find(
	const struct worker *w, struct pkt *const p[], unsigned int n, struct policies found[]);
