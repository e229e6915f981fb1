// SPDX-License-Identifier: BSD-3-Clause
// Cutting packets into fragments (RFC 791 3.2, RFC 8200 4.5): in clear, before they are sealed, and
// after, where the ESP packet is too large for the way to the peer (RFC 4301 8.2.1, RFC 2473 7).
// Workers.
#pragma once

#include "worker.h"

// Puts fragments of at most size octets into w->parts, and takes the packet. They have no DF,
// unless those that the packet came as had it. Returns DROP_NONE, or DROP_FRAGMENT_FAILED: there
// are no buffers, or too many fragments in this pass; the packet is still the caller's.
enum drop fragment_v4(struct worker *w, struct pkt *p, uint16_t size);

// The same for IPv6, whose fragments get the identification p->frag_id.
enum drop fragment_v6(struct worker *w, struct pkt *p, uint16_t size);

// An identification for what is cut here: different for long enough, and from those of other
// workers, each of which has a share of all numbers and began somewhere in it.
rte_be32_t fragment_id(struct worker *w);

// Moves w->parts to the end of a burst. What it has no room for is dropped.
void fragments_join(struct worker *w, struct burst *b);

// Cuts the sealed packets of a burst that are too large for the way to their peer: the gateway is
// their source, so it may, also with IPv6.
void fragment_sealed(struct worker *w, struct burst *b);
