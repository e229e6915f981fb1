// SPDX-License-Identifier: BSD-3-Clause
#include "driver_calls.h"

#include <linux/if_packet.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_interrupts.h>

#define WAIT_US 20 // between looks at the workers, which may need the CPU to get there

static struct rte_rcu_qsbr *_Atomic workers;

void peer_memory_guard(struct rte_rcu_qsbr *qsbr)
{
	atomic_store_explicit(&workers, qsbr, memory_order_release);
}

// The memif driver has marked the port as disconnected before, so that workers that begin a pass
// now keep away from this memory.
int munmap(void *address, size_t length)
{
	struct rte_rcu_qsbr *qsbr = atomic_load_explicit(&workers, memory_order_acquire);

	if (qsbr != NULL && rte_thread_is_intr()) {
		uint64_t token = rte_rcu_qsbr_start(qsbr);

		while (rte_rcu_qsbr_check(qsbr, token, false) != 1)
			rte_delay_us_sleep(WAIT_US);
	}
	return (int)syscall(SYS_munmap, address, length);
}

// Every packet socket of the driver joins a group of sockets for which the kernel reassembles IPv4
// fragments, even with a single queue, and datagrams that do not fit a frame of the ring afterwards
// are truncated. The gateway uses one queue, and reassembles or forwards fragments itself.
__attribute__((visibility("default"))) int setsockopt(
	int fd, int level, int name, const void *value, socklen_t size)
{
	if (level == SOL_PACKET && name == PACKET_FANOUT)
		return 0;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}
