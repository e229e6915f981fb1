// SPDX-License-Identifier: BSD-3-Clause
// Functions of the C library that take the place of its own also in DPDK's drivers, as the loader
// finds the program's first:
//
// - munmap(): memory that a peer shares by memif stays mapped until no worker uses it any more. The
//   driver unmaps it on its interrupt thread as soon as the peer leaves, while workers use
//   it.
// - setsockopt(): packet sockets of net_af_packet do without the option PACKET_FANOUT, which its
//   arguments do not let one choose.
//
// Any thread, unless noted.
#pragma once

#include <rte_rcu_qsbr.h>

// From now on the interrupt thread unmaps memory only when each worker has ended the pass that it
// is in. NULL: at once again. Control thread, before workers start and after they have ended.
void peer_memory_guard(struct rte_rcu_qsbr *qsbr);
