// SPDX-License-Identifier: BSD-3-Clause
// Steps of a traced packet: the kinds, and the fields that are kept of each. Workers fill them,
// control thread and telemetry read them. Pure functions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "addr.h"

#define TRACE_NAME_MAX 32
#define TRACE_NO_PORT  UINT16_MAX

enum trace_kind {
#define TRACE(id, stage, names, decision) TRACE_##id,
#include "trace.def"
#undef TRACE
	TRACE_KINDS
};

enum trace_names {
	TRACE_NAMES_NOTHING,
	TRACE_NAMES_SA,
	TRACE_NAMES_POLICY,
	TRACE_NAMES_RULE,
	TRACE_NAMES_NAT,
	TRACE_NAMES_FLOW
};

struct trace_info {
	const char *stage;
	const char *decision;
	enum trace_names names;
};

extern const struct trace_info trace_info[TRACE_KINDS];

// Fields of the headers of a packet, which are not checked.
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

struct trace_step {
	uint64_t tsc;
	uint32_t packet; // its number in the log, from 1
	uint8_t worker;
	uint8_t kind;               // enum trace_kind
	uint8_t reason;             // enum drop, of TRACE_DROPPED
	uint16_t len;               // octets of the packet now; when received or sent, of the frame
	uint16_t before;            // octets before the step; 0: the same
	uint16_t port;              // ingress or egress port; TRACE_NO_PORT: unknown
	uint16_t mtu;               // of the path, where the size mattered; 0: it did not
	uint32_t pieces;            // of TRACE_FRAGMENTED and TRACE_CUT
	uint64_t seq;               // of ESP, all 64 bits; 0: none
	struct ip_addr next;        // the next hop; none: unknown
	struct rte_ether_addr mac;  // of the next hop; zero: unknown
	char name[TRACE_NAME_MAX];  // of the kind given by trace_info
	struct trace_header header; // the outermost IP header, or ARP
};

// Reads the headers in len octets, which may be anything.
void trace_header_read_ip(struct trace_header *h, const uint8_t *ip, uint32_t len);
void trace_header_read_frame(struct trace_header *h, const uint8_t *frame, uint32_t len);
