// SPDX-License-Identifier: BSD-3-Clause
// The same as packet.h, for IPv6: frames built from a few words, without the code under test.
#pragma once

#include "packet.h"

#define IP6_LEN 40

// An IPv6 packet; fields that are 0 get the usual value.
struct ipv6 {
	const char *src, *dst;
	uint8_t proto; // UDP; the protocol after the extension headers
	uint8_t tos;
	uint8_t hops; // 64
	uint16_t len; // of the whole packet: 100
	uint32_t flow_label;
	const uint8_t *ext; // extension headers, complete; the next header of the last one is proto
	uint8_t ext_len, ext_proto; // their length, and the type of the first
	uint16_t sport, dport;      // of TCP and UDP
	uint8_t icmp_type, icmp_code;
};

// "2001:db8::1" as octets.
const uint8_t *ip6_octets(const char *text);

// The checksum of the payload of an IPv6 packet at off; 0 if it has a right one (RFC 8200 8.1).
uint16_t ip6_checksum(const uint8_t *packet, uint16_t off, uint16_t len, uint8_t proto);

// Writes the packet to out, returns its length. ICMP gets a right checksum.
uint16_t ip6_write(uint8_t *out, struct ipv6 ip);

// Writes an ICMPv6 error that quotes about_len octets of a packet, returns its length.
uint16_t error6_write(uint8_t *out, const char *src, const char *dst, uint8_t type, uint8_t code,
	const uint8_t *about, uint16_t about_len);

// A frame received from the neighbour of the port.
struct frame frame_ip6(uint16_t port, struct ipv6 ip);

// The same with len octets of packet, unchanged.
struct frame frame_raw6(uint16_t port, const uint8_t *packet, uint16_t len);

// A neighbour solicitation (135) or advertisement (136) of target with the link address of the
// port's neighbour as its option, and these flags of an advertisement.
struct frame frame_nd(uint16_t port, uint8_t type, const char *src, const char *dst,
	const char *target, uint32_t flags);

// Corrects length and checksum of a message of neighbour discovery that the test has changed, and
// the frame's destination for a group (RFC 2464 7).
void frame_nd_update(struct frame *f);
