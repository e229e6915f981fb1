// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel for the hosts behind ports (host_iface.h): those in the configuration that
// lead out of such ports, and one for each remote network of a tunnel that such a route covers.
// Routes into tunnels have a source address that the policy covers, which programs use. Pure
// functions, any thread.
#pragma once

#include "conf.h"

struct host_route {
	struct ip_prefix to;
	struct ip_addr via;      // IPv6 also for IPv4; none: on the link of the port
	unsigned int port;       // index into ports, of one with a host
	struct ip_addr source;   // an own address of a port with a host; none: the kernel chooses
	struct conf_where where; // of the route or the policy
};

// Calls add with each of them; no two have the same destination. There are at most as many as
// routes and policies.
void host_routes_each(
	const struct conf *conf, void (*add)(void *arg, const struct host_route *route), void *arg);
