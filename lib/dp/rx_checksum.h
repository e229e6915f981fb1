// SPDX-License-Identifier: BSD-3-Clause
// Checksums that a sender on this machine, or the other end of a veth pair, has left to hardware
// that its packets never see: packet sockets and AF_XDP pass them on as they are, and a packet in
// ESP would reach its receiver like that. Workers, before a pass.
#pragma once

#include "worker.h"

// Completes those of n frames, counts them, and marks them with RTE_MBUF_F_RX_L4_CKSUM_NONE for
// traces.
void rx_checksum_complete(struct worker *w, struct rte_mbuf *const m[], uint16_t n);
