// SPDX-License-Identifier: BSD-3-Clause
// Checksums that a sender on this machine, or the other end of a veth pair, has left to hardware
// that its packets never see: packet sockets, AF_XDP and ports with tso pass them on as they are,
// and a packet in ESP would reach its receiver like that. Workers, before a pass.
#pragma once

#include "worker.h"

// Completes those of n frames, counts them, and marks them with RTE_MBUF_F_RX_L4_CKSUM_NONE for
// traces. A frame in several buffers becomes one in a single buffer, but not one to be cut
// (segment.h): each part gets its checksum.
void rx_checksum_complete(struct worker *w, struct rte_mbuf *m[], uint16_t n);
