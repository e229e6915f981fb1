// SPDX-License-Identifier: BSD-3-Clause
// Frames larger than the MTU, which the other end of a port leaves to the gateway to cut, as its
// driver delivers them; and checks of the parts that it sends. Written without the code under test.
#pragma once

#include "peer.h"
#include "site_v6.h"

#define TCP_LEN   20
#define FAR       "198.51.100.5" // in clear, by WAN
#define IP_MAX    65535
#define FIRST     2034 // octets in the first buffer of a frame
#define ISN       5000
#define FIN       1
#define PSH       8
#define ACK       16
#define CWR       128
#define FRAME_RAW (ETH_LEN + IP_MAX)

// A TCP segment of host A.
struct large {
	const char *src, *dst; // 10.1.0.5 and 10.2.0.5, or 2001:db8:1::5 and 2001:db8:2::5
	bool v6;
	uint16_t frag;  // of IPv4
	uint32_t len;   // of the packet
	uint16_t size;  // octets of payload of each part
	uint8_t flags;  // ACK
	uint32_t seq;   // ISN
	uint8_t proto;  // TCP
	uint16_t first; // octets in its first buffer: FIRST
};

extern uint8_t large_raw[FRAME_RAW]; // the frame that large_write() has written

// Octets of the IP header.
uint16_t large_head(struct large l);

// Writes the frame, without a checksum of TCP, as its sender leaves it.
void large_write(struct large l);

// The octets of large_raw in as many buffers as they need, marked as a driver does it.
struct rte_mbuf *large_raw_mbuf(struct large l);

// Both.
struct rte_mbuf *large_mbuf(struct large l);

// One pass with it.
void large_pass(struct gateway *g, struct large l);

// Checks the part with this number. Returns the octets of its payload.
uint32_t large_part(struct large l, const uint8_t *ip, uint16_t len, uint32_t number);

// The last pass sent the segment in n parts with that payload; opened if there is a peer.
void expect_parts(
	struct gateway *g, struct large l, const struct peer *peer, unsigned int n, uint16_t size);

// The number of parts with that payload.
unsigned int large_parts(struct large l, uint16_t size);

// One pass with it, which sends the parts that its sender wants.
void check_parts(struct gateway *g, struct large l, const struct peer *peer);
