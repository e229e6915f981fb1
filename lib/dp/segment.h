// SPDX-License-Identifier: BSD-3-Clause
// Frames larger than the MTU, which the other end of a port with tso leaves to the gateway to cut:
// TCP segments (TSO), and UDP datagrams to be fragmented (UFO). Their drivers mark them in
// ol_flags, with the octets of payload of each part in tso_segsz. Policy, flow and rule are looked
// up once; fragment.c then cuts. Nothing of the frame is trusted: a virtual machine wrote it.
// Workers.
#pragma once

#include "worker.h"

#define SEGMENT_MARK RTE_MBUF_F_RX_LRO // of ol_flags

// Whether the frame is to be cut. It may be in several buffers, of which the first has all headers.
static inline bool segment_is_marked(const struct rte_mbuf *m)
{
	return unlikely((m->ol_flags & SEGMENT_MARK) != 0);
}

// Takes a marked packet whose IP header is checked. Returns DROP_NONE; DROP_EXT_HEADERS,
// DROP_SEGMENT_MALFORMED: it contradicts itself; DROP_NO_BUFFER or DROP_FRAME_SCATTERED.
enum drop segment_input(struct worker *w, struct pkt *p);

// Makes a TCP segment that is not cut a packet like others, with its checksum. Returns DROP_NONE,
// DROP_NO_BUFFER or DROP_FRAME_SCATTERED.
enum drop segment_keep(struct worker *w, struct pkt *p);
