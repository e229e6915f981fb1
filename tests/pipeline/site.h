// SPDX-License-Identifier: BSD-3-Clause
// The network of the pipeline's tests, as configurations of its gateways:
//
//   10.1.0.0/24 --[LAN] A [WAN]-- 192.0.2.0/24 --[WAN] B [LAN]-- 10.2.0.0/24
//   10.7.0.0/24 --[DMZ]                        |
//                                              C -- 10.3.0.0/24
//
// A is 192.0.2.1, B 192.0.2.2, C 192.0.2.3; the next hop of the default route is 192.0.2.254.
// Gateways have the first address of their networks, and the link addresses of hosts .5 are static.
// Sites B and C reach each other through A.
//
// At A and B, traffic between 10.1.0.0/24 and
//   10.2.0.0/24      uses the tunnel of A and B
//   10.3.0.0/24      that of A and C (A only)
//   10.4.0.0/24      that of A and B, UDP to ports 5000 to 5010 of 10.4.0.0/24 only
//   10.7.0.0/24      bypasses (A only)
//   198.51.100.0/24  bypasses, UDP to port 7 there is discarded
//   198.18.0.0/15    bypasses, but has no route
//   203.0.113.0/24   is discarded
// and there is no policy for any other.
#pragma once

#include "harness.h"

enum { LAN, WAN, DMZ };

// Settings that differ between tests; 0 selects the usual value.
struct site {
	const char *cipher, *auth;      // of A and B: aes-128-gcm, none
	unsigned int mtu;               // of WAN: 1500
	unsigned int lan_mtu;           // of LAN: 1500
	unsigned int window;            // for replay: 64
	unsigned int errors_per_second; // 1000
	unsigned int hold;              // 256
	const char *sa;                 // more settings of the SAs of A and B: none
	const char *sa_out, *sa_in;     // the same of those of one direction
	const char *icmp;               // of the group icmp: none
	const char *wan;                // more settings of port WAN of A: none
	const char *tunnel;   // of the policy of A for 10.2.0.0/24, with both families of all: none
	const char *rules;    // more of A and B with both families, a comma in front: none
	const char *policies; // more of A, or with both families of all, commas in front: none
	const char *more;     // more settings at top level: none
};

// Makes gateways A and B, with ids 0 and 1.
struct gateway *site_a(struct site s);
struct gateway *site_b(struct site s);

// Gateway A with a host behind a port; WAN has its settings.
struct gateway *site_a_host(uint16_t port, struct site s);

// Gateway A, whose policy "b" has another inbound SA, "from-b2".
struct gateway *site_a_two_in(void);

// An ESP packet that gateway A sends to B, for a packet of 1400 octets.
struct frame site_a_esp(struct gateway *a);

// The frame that a gateway sent to its LAN is the one received from the other LAN.
void expect_arrived(const struct frame *arrived, const struct frame *in);

// The text of A's configuration.
void site_a_conf(char *text, size_t size, struct site s);
