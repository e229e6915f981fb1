// SPDX-License-Identifier: BSD-3-Clause
#include "batch.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_udp.h>

#include "die.h"
#include "gateway_pair.h"
#include "ipv4.h"

#define ESP_MAX       128   // maximum overhead of ESP
#define HOST_FLOWS    50000 // flows of one address
#define SOURCE_PORT   1024  // flows above these
#define DEST_PORT     4501
#define PAYLOAD_OCTET 0x5a

struct batch *batch_new(const struct point *p, unsigned int lane)
{
	struct batch *b = calloc(1, sizeof(*b));
	unsigned int len_max = p->size == POINT_IMIX ? POINT_SIZE_MAX : p->size;

	if (b == NULL)
		die("no memory");
	b->stride = (uint32_t)RTE_ALIGN_CEIL(
		RTE_ETHER_HDR_LEN + len_max + ESP_MAX, RTE_CACHE_LINE_SIZE);
	b->n = RTE_MIN(BATCH_OCTETS / b->stride, BATCH_MAX) / p->burst * p->burst;
	b->warm = b->n / 4 / p->burst * p->burst;
	b->frame = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)b->stride * b->n);
	if (b->frame == NULL)
		die("no memory");
	b->point = p;
	b->lane = lane;
	b->random = 88172645463325252u + lane;
	b->next_mark = (uint64_t)lane << 48;
	return b;
}

void batch_free(struct batch *b)
{
	free(b->frame);
	free(b);
}

uint32_t batch_flows(const struct batch *b)
{
	return (b->point->flows - b->lane + b->point->workers - 1) / b->point->workers;
}

static uint32_t random_below(struct batch *b, uint32_t n)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return (uint32_t)((b->random >> 32) * n >> 32);
}

// Writes the Ethernet header, and returns the end of it.
static void *ether_write(uint8_t *to, rte_be16_t type)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)to;

	*eth = (struct rte_ether_hdr){.dst_addr = GATEWAY_MAC, .src_addr = HOST_MAC, type};
	return eth + 1;
}

static void *ipv4_write(
	struct rte_ipv4_hdr *ip, const struct batch *b, uint32_t flow, uint32_t sa, uint16_t len)
{
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(len),
		.fragment_offset = b->point->feature.mtu > 0 ? 0 : IPV4_OFFSET_DF,
		.time_to_live = 64,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = rte_cpu_to_be_32(HOST_NEAR + flow / HOST_FLOWS),
		.dst_addr = rte_cpu_to_be_32(host_far(sa)),
	};
	ipv4_checksum_set(ip);
	return ip + 1;
}

static void *ipv6_write(struct rte_ipv6_hdr *ip, uint32_t flow, uint16_t len)
{
	struct ip_addr src = addr_v6(1, 1 + flow / HOST_FLOWS), dst = addr_v6(2, 1);

	*ip = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32(6u << 28),
		.payload_len = rte_cpu_to_be_16((uint16_t)(len - sizeof(*ip))),
		.proto = IPPROTO_UDP,
		.hop_limits = 64,
	};
	memcpy(&ip->src_addr, src.b, sizeof(src.b));
	memcpy(&ip->dst_addr, dst.b, sizeof(dst.b));
	return ip + 1;
}

// A UDP packet of the lane's i-th flow.
static void frame_write(struct batch *b, uint8_t *to, uint32_t i, uint16_t len, uint64_t mark)
{
	uint32_t flow = i * b->point->workers + b->lane;
	bool v6 = b->point->feature.inner_v6;
	void *ip =
		ether_write(to, v6 ? RTE_BE16(RTE_ETHER_TYPE_IPV6) : RTE_BE16(RTE_ETHER_TYPE_IPV4));
	struct rte_udp_hdr *udp =
		v6 ? ipv6_write(ip, flow, len) : ipv4_write(ip, b, flow, i % b->point->sas, len);
	uint16_t udp_len = (uint16_t)(len - ((uint8_t *)udp - (uint8_t *)ip));

	*udp = (struct rte_udp_hdr){
		.src_port = rte_cpu_to_be_16((uint16_t)(SOURCE_PORT + flow % HOST_FLOWS)),
		.dst_port = RTE_BE16(DEST_PORT),
		.dgram_len = rte_cpu_to_be_16(udp_len),
	};
	memcpy(udp + 1, &mark, sizeof(mark));
	memset((uint8_t *)(udp + 1) + sizeof(mark), PAYLOAD_OCTET,
		udp_len - sizeof(*udp) - sizeof(mark));
}

void batch_fill(struct batch *b)
{
	uint32_t flows = batch_flows(b);
	struct mix mix = point_mix(b->point);

	for (unsigned int i = 0; i < b->n; i++) {
		uint32_t flow = b->seen < flows ? b->seen++ : random_below(b, flows);
		uint16_t len = mix.len[random_below(b, mix.n)];

		b->mark[i] = b->next_mark++;
		b->sa[i] = (uint16_t)(flow % b->point->sas);
		b->len[i] = (uint16_t)(RTE_ETHER_HDR_LEN + len);
		frame_write(b, batch_frame(b, i), flow, len, b->mark[i]);
	}
}

void batch_replace(struct batch *b, unsigned int i, const uint8_t *frame, uint16_t len)
{
	if (len > b->stride)
		die("a packet grew to %u octets", len);
	memcpy(batch_frame(b, i), frame, len);
	b->len[i] = len;
}
