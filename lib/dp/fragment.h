// SPDX-License-Identifier: BSD-3-Clause
// Fragmentation (RFC 791 3.2, RFC 8200 4.5), and cutting of large TCP segments: before ESP, and
// after it where an ESP packet exceeds the path MTU (RFC 4301 8.2.1, RFC 2473 7). The fragments of
// a burst may exceed the room of one: a full burst is sent before the next packets are fragmented.
// Workers.
#pragma once

#include "worker.h"

#define FRAG_WHOLE 0

// Enqueues a packet that is not encapsulated yet, for fragments of at most size octets. Those of
// IPv4 have its DF bit, those of IPv6 the identification p->frag_id. With p->segments, it is cut
// into TCP segments of at most size octets instead. With FRAG_WHOLE, it is sent as it is, after
// the packets before it. Returns DROP_NONE.
enum drop fragment_enqueue(struct worker *w, struct pkt *p, uint16_t size);

// Enqueues the ESP packets of a burst. Packets that exceed the link MTU of their path are
// fragmented, also over IPv6: the gateway is their source. All stay in order, for the peer's replay
// window.
void fragment_esp(struct worker *w, struct burst *b);

// Fragments enqueued packets and adds the fragments to the burst, as far as these have room there:
// all of any one packet have in an empty one. Packets for which there are no buffers are dropped
// (DROP_FRAGMENT_FAILED).
void fragments_add(struct worker *w, enum frag_stage stage, struct burst *b);

// The same. False: no packets were enqueued.
static inline bool fragments_drain(struct worker *w, enum frag_stage stage, struct burst *b)
{
	if (likely(w->frag_pending[stage].n == 0))
		return false;
	fragments_add(w, stage, b);
	return true;
}

// Allocates an identification, different for long enough, and from those of other workers: each has
// its own share of the numbers, with an unpredictable start.
rte_be32_t fragment_id(struct worker *w);
