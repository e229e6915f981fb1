// SPDX-License-Identifier: BSD-3-Clause
// Which packets are traced. All that is given has to hold, at some step of the packet: of an ESP
// packet and what is in it one will do, but address, port and protocol have to hold for one header.
// Workers; pure functions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "addr.h"
#include "drop.h"

#define TRACE_FILTER_NAME_MAX 32

// What is shown of a header, of a packet that nobody has checked yet.
struct trace_header {
	struct ip_addr src, dst; // or of ARP; none: there is no such header
	rte_be16_t ether_type;   // of a frame; 0: read from an IP header
	rte_be16_t src_port, dst_port;
	rte_be32_t spi, seq; // of ESP
	uint32_t frag_off;   // octets of the packet that are in front of this fragment
	uint16_t mtu_told;   // of an ICMP error about a packet's size
	uint8_t proto, ttl;
	uint8_t icmp_type, icmp_code, tcp_flags;
	bool has_ip, has_ports, has_icmp, has_esp, fragment, more, df;
};

// Reads what len octets hold, which may be anything.
void trace_header_read_ip(struct trace_header *h, const uint8_t *ip, uint32_t len);
void trace_header_read_frame(struct trace_header *h, const uint8_t *frame, uint32_t len);

enum trace_key {
	TRACE_KEY_HEADER = 1 << 0, // address, port, proto
	TRACE_KEY_SPI = 1 << 1,
	TRACE_KEY_SA = 1 << 2,
	TRACE_KEY_POLICY = 1 << 3,
	TRACE_KEY_IN = 1 << 4,
	TRACE_KEY_OUT = 1 << 5,
	TRACE_KEY_DROP = 1 << 6,
};

struct trace_filter {
	unsigned int keys;     // set of enum trace_key that is given
	struct ip_prefix addr; // of either end; ::/0: any
	rte_be16_t port;       // of either end; 0: any
	uint16_t proto;        // TRACE_PROTO_ANY: any
	rte_be32_t spi;
	uint16_t in, out; // ports
	enum drop reason; // DROP_NONE: any
	char sa[TRACE_FILTER_NAME_MAX], policy[TRACE_FILTER_NAME_MAX];
};

#define TRACE_PROTO_ANY 0x100

struct trace_step;

// The keys that hold at this step of a packet.
unsigned int trace_filter_match(const struct trace_filter *f, const struct trace_step *step);
