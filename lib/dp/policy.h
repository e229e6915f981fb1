// SPDX-License-Identifier: BSD-3-Clause
// The IPsec boundary (RFC 4301 5): what may come in, what may go out, and how. Asked for the first
// packet of a flow, and for what has none. Workers.
#pragma once

#include "worker.h"

// What leaves by an unprotected port crosses the boundary once more, also out of one tunnel into
// another.
static inline bool policy_goes_outside(const struct worker *w, const struct pkt *p)
{
	return p->nexthop == NULL || w->snapshot->port[p->nexthop->port].unprotected;
}

// Whether policy decides about the packet on its way in, and out. p->nexthop is known.
static inline bool policy_is_inbound(const struct worker *w, const struct pkt *p)
{
	return p->sa_in != NULL || w->snapshot->port[p->port].unprotected;
}

static inline bool policy_is_outbound(const struct worker *w, const struct pkt *p)
{
	return !pkt_is_local(p) &&
	       (!policy_is_inbound(w, p) || (p->sa_in != NULL && policy_goes_outside(w, p)));
}

// The policies that match a packet in these directions; NULL: none matches, or it is not asked.
struct policies {
	const struct spd_policy *in, *out;
};

// Looks up those of n packets at once, at most RX_BURST_MAX: a fraction of the cost of one by one.
void policy_find(
	const struct worker *w, struct pkt *const p[], unsigned int n, struct policies found[]);

// Whether policy, which policy_find() has found, lets the packet in (RFC 4301 5.2): out of an SA,
// by the policy that sends through that SA, which p->in_by then is; or in clear. Returns DROP_NONE,
// DROP_SELECTOR, DROP_CLEAR_TEXT, DROP_IP_SOURCE, DROP_NO_POLICY or DROP_POLICY_DISCARD. A packet
// in clear for an address of an unprotected port needs no policy.
enum drop policy_check_inbound(struct worker *w, struct pkt *p, const struct spd_policy *policy);

// Whether policy may let in what a fragment out of an SA is a part of, as far as the fragment shows
// it. Returns DROP_NONE, p->in_by being the policy, or DROP_SELECTOR.
enum drop policy_check_fragment(struct worker *w, struct pkt *p);

// Whether policy may let pass, in either direction, what a fragment in clear is a part of. Returns
// DROP_NONE, or why its addresses alone are enough to drop it: as policy_check_inbound() and
// policy_check_outbound(), or as forward_lookup(), which p->nexthop is of.
enum drop policy_check_clear_fragment(struct worker *w, struct pkt *p);

// Whether and how the policy lets the packet out (RFC 4301 5.1): through p->sa_out, or in clear.
// Returns DROP_NONE, DROP_NO_POLICY or DROP_POLICY_DISCARD.
enum drop policy_check_outbound(struct worker *w, struct pkt *p, const struct spd_policy *policy);

// The same about an ICMP error (RFC 4301 6): about is what transit has read of it. It goes the way
// of the traffic that it is about where its own addresses have none: a router on the way may have
// any. About traffic of a tunnel nothing is let in, in clear, but what the configuration says, nor
// out.
enum drop policy_check_error_inbound(struct worker *w, struct pkt *p, const struct flow_pkt *about);
enum drop policy_check_error_outbound(
	struct worker *w, struct pkt *p, const struct flow_pkt *about);
