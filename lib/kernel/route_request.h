// SPDX-License-Identifier: BSD-3-Clause
// Requests to the kernel about the gateway's own routes in its table main. They need CAP_NET_ADMIN.
// Any thread.
#pragma once

#include "host_route.h"

// One that adds (RTM_NEWROUTE) or deletes (RTM_DELROUTE) the route with a protocol and a metric.
// flags: NLM_F_* beside those of every request. One without dev is a blackhole. Returns 0 or
// -errno.
int route_request(uint16_t type, uint16_t flags, const struct host_route *route, uint8_t protocol,
	uint32_t metric);

// Of a route of a dump.
struct route_seen {
	struct ip_prefix to;
	bool blackhole;
};

// Calls each with every route of a family that has the protocol and the metric. Returns 0 or
// -errno.
int route_dump(uint8_t family, uint8_t protocol, uint32_t metric,
	void (*each)(void *arg, const struct route_seen *route), void *arg);
