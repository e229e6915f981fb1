// SPDX-License-Identifier: BSD-3-Clause
#include "spread.h"

#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_jhash.h>

#include "icmp6.h"
#include "ip_view.h"
#include "ipv4.h"
#include "ipv6.h"

// Octets of a frame that are looked at: IPv6 with extension headers, and of what they carry ports
// or an SPI.
#define HEADERS_MAX                                                                                \
	(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv6_hdr) + IPV6_CHAIN_LEN_MAX + 8)

// Sum and difference-free mixing make both directions alike.
static unsigned int choose(uint32_t ends, uint32_t third, uint8_t proto, unsigned int n_workers)
{
	uint32_t hash = rte_jhash_2words(ends, third, proto);

	return (unsigned int)(((uint64_t)hash * n_workers) >> 32);
}

static unsigned int spread_v4(const struct rte_ipv4_hdr *ip, uint32_t len, unsigned int n_workers)
{
	rte_be16_t src = 0, dst = 0;
	uint32_t third;

	if (ipv4_check(ip, len, true) != IPV4_GOOD)
		return 0;
	if (ip->next_proto_id == IPPROTO_ESP && !ipv4_is_fragment(ip) &&
		rte_be_to_cpu_16(ip->total_length) >=
			rte_ipv4_hdr_len(ip) + sizeof(struct rte_esp_hdr)) {
		third = ((const struct rte_esp_hdr *)((const uint8_t *)ip + rte_ipv4_hdr_len(ip)))
				->spi;
	} else {
		ipv4_ports(ip, &src, &dst);
		third = (uint32_t)(src ^ dst);
	}
	return choose(ip->src_addr ^ ip->dst_addr, third, ip->next_proto_id, n_workers);
}

// Messages of neighbour discovery come to one worker, in order.
static unsigned int spread_v6(const struct rte_ipv6_hdr *ip, uint32_t len, unsigned int n_workers)
{
	struct ipv6_upper upper;
	struct ip_view v;
	uint32_t ends = 0, third;

	if (ipv6_check(ip, len) != IPV6_GOOD ||
		ipv6_upper_find(&upper, ip, ipv6_len(ip)) != IPV6_GOOD)
		return 0;
	ip_view_read(&v, ip);
	if (v.has_icmp_type && v.icmp_type >= ND_ROUTER_SOLICIT && v.icmp_type <= ND_REDIRECT)
		return 0;
	third = (uint32_t)(v.src_port ^ v.dst_port);
	if (v.proto == IPPROTO_ESP && !upper.fragment &&
		v.len >= v.l4_off + sizeof(struct rte_esp_hdr))
		memcpy(&third, (const uint8_t *)ip + v.l4_off, sizeof(third));
	for (unsigned int i = 0; i < 4; i++)
		ends ^= v.src.w[i] ^ v.dst.w[i];
	return choose(ends, third, upper.fragment ? 0 : v.proto, n_workers);
}

unsigned int spread_worker(const struct rte_mbuf *m, unsigned int n_workers)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	uint32_t len = rte_pktmbuf_pkt_len(m) - (uint32_t)sizeof(*eth);

	// Of a frame in several buffers all headers are in the first: drivers fill it.
	if (rte_pktmbuf_data_len(m) < (m->nb_segs > 1 ? HEADERS_MAX : sizeof(*eth)))
		return 0;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return spread_v4((const struct rte_ipv4_hdr *)(eth + 1), len, n_workers);
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6))
		return spread_v6((const struct rte_ipv6_hdr *)(eth + 1), len, n_workers);
	return 0;
}
