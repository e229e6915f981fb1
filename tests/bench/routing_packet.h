// SPDX-License-Identifier: BSD-3-Clause
// Packets of bench_routing, and counts of the decisions about their flows.
#pragma once

#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "die.h"
#include "flow_table.h"
#include "packet.h"
#include "single_gateway.h"

struct routing_packet {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	uint8_t data[64 - sizeof(struct rte_ipv4_hdr) - sizeof(struct rte_udp_hdr)];
} __rte_packed __rte_aligned(2);

// A packet of the i-th flow, from a station on the LAN.
static inline void routing_packet_write(struct routing_packet *p, uint32_t i, rte_be32_t dst)
{
	*p = (struct routing_packet){
		.eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4),
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = RTE_BE16(sizeof(*p) - sizeof(p->eth)),
			.time_to_live = 64,
			.next_proto_id = IPPROTO_UDP,
			.src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 1, 1, 1) + i % 60000),
			.dst_addr = dst},
		.udp = {.src_port = rte_cpu_to_be_16((uint16_t)(1 + i / 60000)),
			.dst_port = RTE_BE16(5001),
			.dgram_len = RTE_BE16(sizeof(p->udp) + sizeof(p->data))},
	};
	memcpy(&p->eth.dst_addr, mac_of_port(LAN), sizeof(p->eth.dst_addr));
	p->eth.src_addr.addr_bytes[0] = 2;
	p->ip.hdr_checksum = rte_ipv4_cksum(&p->ip);
}

// How often the decisions of all flows were written, each in two steps.
static inline uint64_t routing_decisions(const struct single_gateway *g)
{
	const struct flow_table *t = g->flows;
	uint64_t n = 0;

	for (uint32_t i = 1; i <= t->n_filled; i++)
		n += (t->entry[i].dir[0].mark + t->entry[i].dir[1].mark) / FLOW_WRITTEN;
	return n;
}

// Ends the program: the gateway has not sent n packets.
static inline void routing_lost(const struct single_gateway *g, unsigned int n)
{
	for (enum drop d = 1; d < DROP_COUNT; d++)
		if (g->worker->counters.drops[d] > 0)
			fprintf(stderr, "%s %lu\n", drop_info[d].name,
				g->worker->counters.drops[d]);
	die("%u packets were not sent", n);
}
