// SPDX-License-Identifier: BSD-3-Clause
// Packet buffers. During a pass, every packet is in one buffer, but for the last octets of the
// largest IPv6 datagrams (reassemble.c). Ordinary ones have room for the MTU
// of any link and for ESP. Larger packets, which are frames that drivers spread over several
// buffers and reassembled packets, are in a large one until the end of the pass. No buffer is
// shared: drivers with fast free do not look at the reference count. Workers.
#pragma once

#include "worker.h"

// Allocates *m for len octets, ordinary if they fit. In a large one, the headroom may be less than
// usual if len is close to its size. Returns DROP_NONE, DROP_NO_BUFFER or DROP_FRAME_SCATTERED: no
// buffer is so large.
enum drop buffer_take(struct worker *w, struct rte_mbuf **m, uint32_t len);

// Whether an ordinary buffer has room for a packet of len octets.
bool buffer_is_ordinary(const struct worker *w, uint32_t len);

// Replaces a chain, or a buffer with too little head- or tailroom, by one buffer, ordinary if it
// fits. Returns DROP_NONE; DROP_NO_BUFFER, or DROP_FRAME_SCATTERED: it fits none. *m is then
// unchanged.
enum drop buffer_flatten(struct worker *w, struct rte_mbuf **m);

// Moves a packet from a large buffer to an ordinary one: only those may be held or sent. The same
// returns; if not DROP_NONE, *m is unchanged.
enum drop buffer_leave_large(struct worker *w, struct rte_mbuf **m);

// Replaces a large buffer, which is the worker's, by a chain of ordinary ones, which others may
// keep. Returns DROP_NONE, or DROP_NO_BUFFER: *m is then unchanged.
enum drop buffer_chain(struct worker *w, struct rte_mbuf **m);

#define BUFFER_FOREIGN (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL) // a flag of ol_flags

// Whether a buffer is in one part and not shared: both counts are 1, which are compared at once.
static inline bool buffer_is_single(const struct rte_mbuf *m)
{
	uint32_t counts;

	static_assert(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, refcnt) + 2,
		"next to each other");
	memcpy(&counts, (const uint8_t *)m + offsetof(struct rte_mbuf, refcnt), sizeof(counts));
	return likely(counts == 0x10001);
}

// Whether a frame is in one buffer that is neither shared, indirect nor external.
static inline bool buffer_is_ours(const struct rte_mbuf *m)
{
	return buffer_is_single(m) && likely((m->ol_flags & BUFFER_FOREIGN) == 0);
}

static inline bool buffer_is_large(const struct worker *w, const struct rte_mbuf *m)
{
	return unlikely(m->pool != w->pool);
}
