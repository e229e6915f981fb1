// SPDX-License-Identifier: BSD-3-Clause
// The IPsec boundary (RFC 4301 5): what may come in, what may go out, and how. Asked for the first
// packet of a flow, and for what has none. Workers.
#pragma once

#include "worker.h"

// Whether policy lets the packet in (RFC 4301 5.2): out of an SA, by the policy that sends through
// that SA, which p->in_by then is; or in clear. Returns DROP_NONE, DROP_SELECTOR, DROP_CLEAR_TEXT,
// DROP_IP_SOURCE, DROP_NO_POLICY or DROP_POLICY_DISCARD. A packet in clear for an address of an
// unprotected port needs no policy.
enum drop policy_let_in(struct worker *w, struct pkt *p);

// Whether policy may let in what a fragment out of an SA is a part of, as far as the fragment shows
// it. Returns DROP_NONE, p->in_by being the policy, or DROP_SELECTOR.
enum drop policy_let_fragment_in(struct worker *w, struct pkt *p);

// Whether policy may let pass, in either direction, what a fragment in clear is a part of. Returns
// DROP_NONE, or why its addresses alone are enough to drop it: as policy_let_in() and
// policy_let_out(), or as forward_find(), which p->nexthop is of.
enum drop policy_let_clear_fragment_in(struct worker *w, struct pkt *p);

// Whether and how policy lets the packet out (RFC 4301 5.1): through p->sa_out, or in clear.
// Returns DROP_NONE, DROP_NO_POLICY or DROP_POLICY_DISCARD.
enum drop policy_let_out(struct worker *w, struct pkt *p);

// The same about an ICMP error (RFC 4301 6): about is what transit has read of it. It goes the way
// of the traffic that it is about where its own addresses have none: a router on the way may have
// any. About traffic of a tunnel nothing is let in, in clear, but what the configuration says, nor
// out.
enum drop policy_let_error_in(struct worker *w, struct pkt *p, const struct flow_pkt *about);
enum drop policy_let_error_out(struct worker *w, struct pkt *p, const struct flow_pkt *about);

static inline uint32_t policy_index(const struct worker *w, const struct spd_policy *policy)
{
	return (uint32_t)(policy - w->snapshot->policies);
}
