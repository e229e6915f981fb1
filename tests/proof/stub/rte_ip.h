// SPDX-License-Identifier: BSD-3-Clause
// The parts of DPDK that the code under proof uses: frama-c cannot parse its headers.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint16_t rte_be16_t;
typedef uint32_t rte_be32_t;

// For a little-endian processor.
#define RTE_LITTLE_ENDIAN   1
#define RTE_BYTE_ORDER      RTE_LITTLE_ENDIAN
#define RTE_BE16(v)         ((rte_be16_t)((uint16_t)(v) / 256 + (uint16_t)(v) % 256 * 256))
#define RTE_BE32(v)         ((rte_be32_t)__builtin_bswap32(v))
#define rte_bswap16(v)      RTE_BE16(v)
#define rte_be_to_cpu_16(v) RTE_BE16(v)
#define rte_cpu_to_be_16(v) RTE_BE16(v)
#define rte_be_to_cpu_32(v) RTE_BE32(v)

#define RTE_IPV4_VHL_DEF         0x45
#define RTE_IPV4_HDR_MF_FLAG     (1 << 13)
#define RTE_IPV4_HDR_DF_FLAG     (1 << 14)
#define RTE_IPV4_HDR_OFFSET_MASK ((1 << 13) - 1)

struct rte_ipv4_hdr {
	uint8_t version_ihl;
	uint8_t type_of_service;
	rte_be16_t total_length;
	rte_be16_t packet_id;
	rte_be16_t fragment_offset;
	uint8_t time_to_live;
	uint8_t next_proto_id;
	rte_be16_t hdr_checksum;
	rte_be32_t src_addr;
	rte_be32_t dst_addr;
};

struct rte_tcp_hdr {
	rte_be16_t src_port;
	rte_be16_t dst_port;
	rte_be32_t sent_seq;
	rte_be32_t recv_ack;
	uint8_t data_off;
	uint8_t tcp_flags;
	rte_be16_t rx_win;
	rte_be16_t cksum;
	rte_be16_t tcp_urp;
};

uint8_t rte_ipv4_hdr_len(const struct rte_ipv4_hdr *ip);
uint16_t rte_raw_cksum(const void *buf, size_t len);
