// SPDX-License-Identifier: BSD-3-Clause
// The kernel's routes in the table of the gateway (conf, kernel_routes): route_mirror.h follows
// them, and their next hops are here translated from the kernel's interfaces to those of the
// gateway: the interface behind a port stands for the port, that of a tunnel for the tunnel. A
// route out of any other interface drops the packets to its prefix. Control thread, with the
// gateway's lock, unless noted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "route_mirror.h"

// Begins to follow the kernel's routes if the configuration has kernel_routes. Returns 0, or -EIO
// after a message. Before privileges are dropped: they allow a large receive buffer.
int route_follow_start(struct control *c);

// Follows them, and the configuration: a bounded amount of work. Returns whether there is more to
// do at once. Call it every 100 ms at least.
bool route_follow_tick(struct control *c, uint64_t now_ms);

// When workers have ended.
void route_follow_stop(void);

// A route of the kernel, for lists.
struct followed_route {
	uint8_t protocol;       // RTPROT_*
	const char *unused;     // why it drops packets: "encapsulation"; NULL: it does not
	char link[IF_NAMESIZE]; // the interface of the kernel that it leads out of
};

// Returns false if the kernel has no such route any more. Any thread with the lock.
bool route_follow_find(
	struct followed_route *r, const struct control *c, const struct ip_prefix *to);

// "encapsulation"; NULL for MIRROR_USED. Any thread.
const char *route_follow_reason(unsigned int reason);

// Counters; all 0 if no routes are followed. Those beyond the limit include those for which the
// table of the gateway has no room. Any thread with the lock.
struct route_mirror_stats route_follow_stats(void);
