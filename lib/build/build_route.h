// SPDX-License-Identifier: BSD-3-Clause
// The routes that a configuration means, spoken or not. Private to lib/build.
#pragma once

#include "conf.h"
#include "route.h"

// Whether the first address of the network is what any of its routers answers to: of IPv6 (RFC 4291
// 2.6.1), but not with two addresses only (RFC 6164).
bool build_has_anycast(const struct conf_iface_addr *a);

// Makes the table of configured routes, connected networks, own addresses, and what is never
// forwarded. Returns NULL with errno ENOMEM.
struct route_table *build_routes(const struct conf *conf);
