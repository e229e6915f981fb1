// SPDX-License-Identifier: BSD-3-Clause
// Packet sockets as DPDK's driver net_af_packet opens them, without what it does not let one
// choose: every one joins a group of sockets for which the kernel reassembles IPv4 fragments, even
// with a single queue, and what does not fit a frame of the ring afterwards is cut off. The gateway
// uses one queue, and reassembles or forwards fragments itself.
//
// The program's setsockopt() takes the place of libc's, also for the driver. Any thread.
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int setsockopt(
	int fd, int level, int name, const void *value, socklen_t size)
{
	if (level == SOL_PACKET && name == PACKET_FANOUT)
		return 0;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}
