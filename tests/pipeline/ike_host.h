// SPDX-License-Identifier: BSD-3-Clause
// A station with an IKE daemon for the address that gateway A has on WAN: of IPv4 on DMZ, of IPv6
// on LAN.
#pragma once

#include "site_v6.h"
#include "udp.h"

#define IKE 500

// The policy for IKE at a port of A.
#define BYPASS(port)                                                                               \
	", { name = \"ike" #port "\"; local = \"192.0.2.1\"; proto = \"udp\";"                     \
	"    local_port = \"" #port "\"; action = \"bypass\"; }"

extern const struct site ike_in_dmz, ike_in_lan;

// The frame is sent to the station behind the port, with no change but the time to live.
void expect_handed_over(struct gateway *g, struct frame f, uint16_t port);
