// SPDX-License-Identifier: BSD-3-Clause
// Buffers. Through a pass, every packet is in one buffer: ordinary ones have room for what any link
// takes, and for what ESP adds; what is larger, frames that drivers have spread over several
// buffers (as hardware with small ones does) and reassembled packets, is in a large one until the
// end of the pass. Nobody else has it: drivers that free fast do not look. Workers.
#pragma once

#include "worker.h"

// A buffer that holds len octets, ordinary if they fit, becomes *m. In a large one there may be
// less room than usual in front of so many that hardly any packet has them. Returns DROP_NONE,
// DROP_NO_BUFFER or DROP_FRAME_SCATTERED: no buffer is so large.
enum drop buffer_take(struct worker *w, struct rte_mbuf **m, uint32_t len);

// Copies a chain, or what is in a buffer with too little room around it, into one buffer, ordinary
// if it fits, which becomes *m. The chain stays the caller's. Returns DROP_NONE, DROP_NO_BUFFER or
// DROP_FRAME_SCATTERED: it fits none.
enum drop buffer_flatten(struct worker *w, struct rte_mbuf **m, const struct rte_mbuf *chain);

// Moves a packet out of a large buffer into an ordinary one: only those may wait, or leave by a
// port. The same returns; *m is unchanged then.
enum drop buffer_leave_large(struct worker *w, struct rte_mbuf **m);

// Whether a frame is in one buffer, which nobody else has and whose octets are its own.
static inline bool buffer_is_ours(const struct rte_mbuf *m)
{
	return likely(((m->nb_segs | rte_mbuf_refcnt_read(m)) == 1) & RTE_MBUF_DIRECT(m));
}

static inline bool buffer_is_large(const struct worker *w, const struct rte_mbuf *m)
{
	return unlikely(m->pool != w->pool);
}
