// SPDX-License-Identifier: BSD-3-Clause
// Cutting packets into fragments (RFC 791 3.2, RFC 8200 4.5): in clear, before they are sealed, and
// after, where the ESP packet is too large for the way to the peer (RFC 4301 8.2.1, RFC 2473 7). A
// burst may become more fragments than one has room for: those that fit are sent before the next
// are cut. Workers.
#pragma once

#include "worker.h"

// Takes a packet of a burst in clear, to be cut into fragments of at most size octets. Those of
// IPv4 have "don't fragment" as it has, those of IPv6 the identification p->frag_id. Returns
// DROP_NONE.
enum drop fragment_enqueue(struct worker *w, struct pkt *p, uint16_t size);

// Takes the sealed packets of a burst. Those that are too large for the way to their peer are cut,
// also with IPv6: the gateway is their source. All stay in order, for the window of the peer.
void fragment_esp(struct worker *w, struct burst *b);

// Cuts packets that have been taken and adds their fragments to the burst, as far as these have
// room there: all of any one have in an empty one. Those for which there are no buffers are dropped
// (DROP_FRAGMENT_FAILED).
void fragments_add(struct worker *w, enum frag_stage stage, struct burst *b);

// The same. False: there were no packets left.
static inline bool fragments_drain(struct worker *w, enum frag_stage stage, struct burst *b)
{
	if (likely(w->frag_pending[stage].n == 0))
		return false;
	fragments_add(w, stage, b);
	return true;
}

// An identification for what is cut here: different for long enough, and from those of other
// workers, each of which has a share of all numbers and began somewhere in it.
rte_be32_t fragment_id(struct worker *w);
