// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel for hosts (host_iface.h): those in the configuration that lead out of ports
// with a host, and one for each remote network of a policy's tunnel that such a route covers. These
// have a source address that the policy covers, which programs use. Routes into a tunnel of the
// list lead out of its own interface or, without one, of that of a protected port, from its
// address: the gateway finds the tunnel.
#pragma once

#include "conf.h"

struct host_route {
	struct ip_prefix to;
	struct ip_addr via;      // IPv6 also for IPv4; none: on the link of the interface
	char dev[CONF_NAME_MAX]; // the interface of a host
	struct ip_addr source;   // an own address of a host; none: the kernel chooses
	struct conf_where where; // of the route or the policy
	bool refused;            // by the kernel; false until it was asked
};

// Whether two routes have the same next hop, interface and source. A pure function, any thread.
bool host_route_is_same(const struct host_route *a, const struct host_route *b);

// Calls add with each of them; no two have the same destination. A pure function, any thread.
void host_routes_each(
	const struct conf *conf, void (*add)(void *arg, const struct host_route *route), void *arg);

// Gives the kernel these routes, and removes those of the previous configuration. High metric:
// other routes win. A route that the kernel refuses is logged. Needs CAP_NET_ADMIN. The thread of
// host_iface_set().
void host_routes_set(const struct conf *conf);

// The route to exactly this destination that the kernel was given last. NULL: there is none, or the
// kernel has refused it. The same thread.
const struct host_route *host_route_given(const struct ip_prefix *to);
