// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel in the route table, while the configuration stays: in batches, each of which
// ends with kernel_routes_end(). Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Adds a copy of the kernel's route to a prefix, or replaces it: workers go by it at once, unless
// the configuration has a route to that prefix, or no packet may go there (multicast, 127.0.0.0/8
// and others), which changes nothing. Returns 0, or as route_put(), and nothing has changed.
int kernel_route_put(struct control *c, const struct ip_prefix *to, const struct nexthop *nexthop);

// Deletes it. Returns 0, or -ENOENT.
int kernel_route_delete(struct control *c, const struct ip_prefix *to);

// Watches changes of the table: after a change that alters more than the next hop of packets, the
// flows from and to its addresses are decided again (flow_redecide()).
void kernel_routes_watch(struct control *c);

// After a batch: SAs follow the routes to their peers. When no worker goes by a former route any
// more, routes that have left the table are freed, and flows decided again. If there is no memory,
// or another snapshot is being made, the next call does it. Call it every 100 ms as well.
void kernel_routes_end(struct control *c);
