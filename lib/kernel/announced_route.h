// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel to networks that a routing daemon is to announce (lib/control/announced.h),
// in the table main, with the protocol ROUTE_PROTOCOL_ANNOUNCED and the metric of the setting. Each
// has the next hop of a route for a host to the same destination, so that programs of this machine
// still reach it. Without one it is a blackhole: the gateway itself forwards by its own table.
#pragma once

#include "conf.h"

// Whether the process may give the kernel routes, if the configuration wants that. Returns 0;
// -EPERM after a message. At the start.
int announced_routes_check(const struct conf *conf);

// The networks that are to be announced from now on, each once and in order. Copies them. Control
// thread.
void announced_routes_want(const struct ip_prefix to[], unsigned int n);

// Takes back routes to networks that are wanted no more, or again. Needs CAP_NET_ADMIN. The thread
// of host_iface_set(), as the next one.
void announced_routes_take(void);

// Gives the kernel routes that it lacks, after host_routes_set(); takes back leftovers of a former
// daemon. A route that the kernel refuses is logged. No effect before announced_routes_take() has
// found the first ones.
void announced_routes_give(const struct conf *conf);
