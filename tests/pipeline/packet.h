// SPDX-License-Identifier: BSD-3-Clause
// Frames in plain memory, for tests of the pipeline: built from a few words, and parsed again.
// Written without the code under test.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FRAME_MAX 9800
#define ETH_LEN   14
#define IP_LEN    20
#define FRAME_MIN 60

struct frame {
	uint16_t port; // ingress or egress port
	uint16_t len;
	uint8_t b[FRAME_MAX];
};

// An IP packet; fields that are 0 get the usual value.
struct ipv4 {
	const char *src, *dst;
	uint8_t proto; // UDP
	uint8_t tos;
	uint8_t ttl;     // 64
	uint8_t options; // octets of options after the header, a multiple of 4: all "no operation"
	uint16_t len;    // of the whole packet: 60
	uint16_t id;
	uint16_t frag;         // flags and offset as in the header
	uint16_t sport, dport; // of TCP and UDP
	uint8_t icmp_type, icmp_code;
};

// Initializer of a struct ipv4.
#define FROM_TO(s, d, ...)                                                                         \
	{                                                                                          \
		.src = (s), .dst = (d), ##__VA_ARGS__                                              \
	}

#define DF 0x4000
#define MF 0x2000

uint16_t be16(const uint8_t *p);
uint32_t be32(const uint8_t *p);
void put16(uint8_t *p, unsigned int v);
void put32(uint8_t *p, uint32_t v);

// "192.0.2.1" as a number.
uint32_t ip_number(const char *text);

// The internet checksum over the octets (RFC 1071). 0 if one is among them and right.
uint16_t checksum(const uint8_t *p, unsigned int len);

// Writes the right checksum into the IP header at p.
void ip_checksum_update(uint8_t *p);

// Writes a UDP or TCP header for len octets, as far as there is room for it: ports, UDP's length,
// TCP's flags.
void upper_write(uint8_t *out, uint16_t len, uint8_t proto, uint16_t sport, uint16_t dport);

// Writes the packet to out, returns its length. The payload is a pattern that depends on src and
// id; ICMP gets a right checksum.
uint16_t ip_write(uint8_t *out, struct ipv4 ip);

// Writes an ICMP error that quotes the packet's header and 8 octets after it, returns its length.
uint16_t error_write(uint8_t *out, const char *src, const char *dst, uint8_t type, uint8_t code,
	const uint8_t *about);

// MAC of the gateway's port, and of the neighbour that tests send from and to.
const uint8_t *mac_of_port(uint16_t port);
const uint8_t *mac_of_neighbour(uint16_t port);

// A frame received from the neighbour of the port.
struct frame frame_ip(uint16_t port, struct ipv4 ip);

// The same with len octets of packet, unchanged.
struct frame frame_raw(uint16_t port, const uint8_t *packet, uint16_t len);

// The octets of a text in hexadecimal digits: a frame, padded to the shortest length, and addressed
// to the port unless it is to a group; and an IP packet, in a frame from the port's neighbour.
struct frame frame_hex(uint16_t port, const char *octets);
struct frame frame_hex_ip(uint16_t port, const char *octets);

// The frame that one gateway sent, as another receives it.
struct frame frame_carry(const struct frame *sent);

// Puts frames in a random order.
void frames_shuffle(struct frame f[], unsigned int n, uint64_t *seed);

// The frame after that many routers. IPv4 or IPv6.
struct frame frame_after_hops(const struct frame *in, uint8_t hops);

// ARP: operation, sender and target as in the header; the sender is the port's neighbour.
struct frame frame_arp(uint16_t port, uint16_t operation, const char *sender, const char *target);

// The IP packet of a frame and its length.
static inline const uint8_t *frame_packet(const struct frame *f)
{
	return f->b + ETH_LEN;
}

static inline uint16_t frame_packet_len(const struct frame *f)
{
	return (uint16_t)(f->len - ETH_LEN);
}
