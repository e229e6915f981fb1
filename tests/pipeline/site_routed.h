// SPDX-License-Identifier: BSD-3-Clause
// Gateway A with tunnels that routes lead into. Its two peers have the same selectors, everything:
//
//   10.1.0.0/24 --[LAN] A [WAN]-- 192.0.2.2 "b"  10.2.0.0/16, 172.16.0.0/12, and
//                                              10.6.0.0/16 with skip
//                              \-- 192.0.2.3 "c"  10.3.0.0/16
//
// Without tunnels a default route leads to 192.0.2.254, and a policy lets everything out in clear.
// The host 10.1.0.5 has a static link address.
#pragma once

#include "site.h"

// b: more settings of tunnel "b"; more: at top level.
struct gateway *site_routed(const char *b, const char *more);

// The text of its configuration.
void site_routed_conf(char *text, size_t size, const char *b, const char *more);

// A packet from the LAN arrives at the peer of the SA as it was, but for the time to live.
void site_routed_expect_into(struct gateway *g, const char *dst, const char *sa);

void site_routed_expect_dropped(struct gateway *g, const struct frame *f, enum drop reason);

// A packet to 10.1.0.5 that the peer of an inbound SA sends.
struct frame site_routed_out_of(
	struct gateway *g, const char *sa, unsigned int seq, const char *src);
