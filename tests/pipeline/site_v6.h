// SPDX-License-Identifier: BSD-3-Clause
// A network of both families, as configurations of its gateways:
//
//   10.1.0.0/24, 2001:db8:1::/64 --[LAN] A [WAN]-- 192.0.2.0/24, 2001:db8:f::/64 --[WAN] B [LAN]--
//   10.2.0.0/24, 2001:db8:2::/64
//
// Gateways have the addresses that end in 1 on LAN; A ends in 1 and B in 2 on WAN. The link
// addresses of hosts .5 and ::5 are static. Traffic between the LANs uses one pair of SAs, both
// families; 2001:db8:9::/48 bypasses, by a router on WAN whose address is fe80::9; 2001:db8:8::/48
// bypasses, but has no route; there is no policy for other addresses. Rules reject TCP to port 23.
#pragma once

#include "harness.h"
#include "packet_v6.h"
#include "site.h"

enum outer { OVER_V4, OVER_V6 };

// Makes gateways A and B, with ids 0 and 1. Of struct site, cipher, auth, mtu, lan_mtu, sa, sa_out,
// sa_in, icmp, wan, tunnel, rules, policies and more may differ.
struct gateway *site_v6_a(enum outer outer, struct site s);
struct gateway *site_v6_b(enum outer outer, struct site s);

// Gateway A of tests that need no other; they may replace it.
extern struct gateway *v6_a;
int v6_a_begin(void **state);
int v6_a_end(void **state);

#define v6_a_test(f) cmocka_unit_test_setup_teardown(f, v6_a_begin, v6_a_end)
