// SPDX-License-Identifier: BSD-3-Clause
// Memory that a peer shares by memif stays mapped until no worker uses it any more. DPDK's driver
// unmaps it on its interrupt thread as soon as the peer leaves, in the middle of what workers do
// with it.
#pragma once

#include <rte_rcu_qsbr.h>

// From now on the interrupt thread unmaps memory only when each worker has ended the pass that it
// is in. NULL: at once again. Control thread, before workers start and after they have ended.
void peer_memory_guard(struct rte_rcu_qsbr *qsbr);
