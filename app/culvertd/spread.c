// SPDX-License-Identifier: BSD-3-Clause
#include "spread.h"

#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_jhash.h>

#include "ipv4.h"

unsigned int spread_worker(const struct rte_mbuf *m, unsigned int n_workers)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	uint32_t len = rte_pktmbuf_data_len(m);
	rte_be16_t src = 0, dst = 0;
	uint32_t third;

	if (len < sizeof(*eth) || eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
		ipv4_check(ip, len - (uint32_t)sizeof(*eth), true) != IPV4_GOOD)
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
	// Sum and difference-free mixing make both directions alike.
	uint32_t hash = rte_jhash_2words(ip->src_addr ^ ip->dst_addr, third, ip->next_proto_id);

	return (unsigned int)(((uint64_t)hash * n_workers) >> 32);
}
