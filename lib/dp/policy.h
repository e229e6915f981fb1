// SPDX-License-Identifier: BSD-3-Clause
// The IPsec boundary (RFC 4301 5): which packets may cross it inbound and outbound, and how. For
// the first packet of a flow, and for packets without one. Workers.
#pragma once

#include "policy_search.h"
#include "worker.h"

// Checks a packet against the inbound policy that was found for it (RFC 4301 5.2). From an
// SA, it must be the policy that sends through that SA; p->in_by is set to its number. Returns
// DROP_NONE, DROP_SELECTOR, DROP_CLEAR_TEXT, DROP_IP_SOURCE, DROP_TUNNEL_SOURCE, DROP_NO_POLICY or
// DROP_POLICY_DISCARD.
// A packet in clear for an address of an unprotected port needs no policy, unless it is for the
// host.
enum drop policy_check_inbound(struct worker *w, struct pkt *p, const struct policies *found);

// Checks a fragment from an SA, as far as its headers show its datagram's selectors. Returns
// DROP_NONE, p->in_by being the policy's number, or DROP_SELECTOR.
enum drop policy_check_fragment(struct worker *w, struct pkt *p);

// Checks a fragment in clear, in either direction; none of the host's. Returns DROP_NONE, or the
// reason if its addresses alone are enough to drop its datagram: as policy_check_inbound(),
// policy_check_outbound() or forward_lookup(), which sets p->nexthop.
enum drop policy_check_clear_fragment(struct worker *w, struct pkt *p);

// The packet is to be protected by the policy's SA. DROP_ACQUIRE: IKE has no SA for it yet, and is
// asked for one (RFC 4301 4.4.1).
enum drop policy_protect(struct worker *w, struct pkt *p, const struct spd_policy *policy);

// Applies the outbound policy to a packet (RFC 4301 5.1): p->sa_out is the SA, NULL for bypass.
// Returns DROP_NONE, DROP_NO_POLICY, DROP_POLICY_DISCARD, DROP_TUNNEL_DOWN, or that of
// policy_protect().
enum drop policy_check_outbound(struct worker *w, struct pkt *p, const struct spd_policy *policy);

// Applies policy to a packet whose p->nexthop is known: inbound, outbound, or both between two
// tunnels. found is the result of policy_find(). Reads of fp only icmp_error, unless that is set:
// then also the flow that the error is about. Sends nothing. Returns the reasons of the checks
// above.
enum drop policy_apply(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct policies *found);
