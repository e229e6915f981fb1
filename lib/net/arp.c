// SPDX-License-Identifier: BSD-3-Clause
#include "arp.h"

#include <string.h>

#include "ipv4.h"

bool arp_check(const struct rte_arp_hdr *arp, uint32_t len)
{
	if (len < sizeof(*arp))
		return false;
	return arp->arp_hardware == RTE_BE16(RTE_ARP_HRD_ETHER) &&
	       arp->arp_protocol == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
	       arp->arp_hlen == RTE_ETHER_ADDR_LEN && arp->arp_plen == sizeof(rte_be32_t) &&
	       (arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST) ||
		       arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REPLY)) &&
	       rte_is_valid_assigned_ether_addr(&arp->arp_data.arp_sha);
}

void arp_request_build(uint8_t *frame, const struct rte_ether_addr *mac, rte_be32_t sender,
	rte_be32_t target, const struct rte_ether_addr *to)
{
	static const struct rte_ether_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct rte_ether_hdr eth = {
		.dst_addr = to != NULL ? *to : all,
		.src_addr = *mac,
		.ether_type = RTE_BE16(RTE_ETHER_TYPE_ARP),
	};
	struct rte_arp_hdr arp = {
		.arp_hardware = RTE_BE16(RTE_ARP_HRD_ETHER),
		.arp_protocol = RTE_BE16(RTE_ETHER_TYPE_IPV4),
		.arp_hlen = RTE_ETHER_ADDR_LEN,
		.arp_plen = sizeof(rte_be32_t),
		.arp_opcode = RTE_BE16(RTE_ARP_OP_REQUEST),
		.arp_data = {.arp_sha = *mac, .arp_sip = sender, .arp_tip = target},
	};

	memcpy(frame, &eth, sizeof(eth));
	memcpy(frame + sizeof(eth), &arp, sizeof(arp));
}

void arp_reply_build(struct rte_ether_hdr *eth, const struct rte_ether_addr *mac)
{
	struct rte_arp_hdr *arp = (struct rte_arp_hdr *)(eth + 1);
	struct rte_arp_ipv4 ask = arp->arp_data;

	eth->dst_addr = ask.arp_sha;
	eth->src_addr = *mac;
	arp->arp_opcode = RTE_BE16(RTE_ARP_OP_REPLY);
	arp->arp_data = (struct rte_arp_ipv4){
		.arp_sha = *mac,
		.arp_sip = ask.arp_tip,
		.arp_tha = ask.arp_sha,
		.arp_tip = ask.arp_sip,
	};
}
