// SPDX-License-Identifier: BSD-3-Clause
// A gateway whose routes have several next hops: 10.5.0.0/16 by two routers, 10.6.0.0/16 by two
// tunnels, b and c, and 10.12.0.0/16 by these while one is up.
//
//   10.1.0.0/24 --[LAN] gateway [WAN]-- 192.0.2.251 to .254, routers; 192.0.2.2 and .3, peers
//                               [WAN2]-- 198.51.100.254, a router
#pragma once

#include "site.h"

enum { WAN2 = DMZ };

extern const char site_hops[]; // its configuration
