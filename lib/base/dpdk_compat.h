// SPDX-License-Identifier: BSD-3-Clause
// The differences between the versions of DPDK that Culvert builds with, 22.11 (Debian 12) and
// 24.11 (Debian 13): all other code is the same for both. Any thread.
#pragma once

#include <string.h>

#include <rte_bitops.h> // rte_align32pow2(), which is in rte_common.h before 24.11
#include <rte_common.h>
#include <rte_ip.h>
#include <rte_version.h>

#include "addr.h"

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

// A device in a bond is called member since 23.11. The last of these is a struct as well.
#if RTE_VERSION < RTE_VERSION_NUM(23, 11, 0, 0)
#define rte_eth_bond_member_add         rte_eth_bond_slave_add
#define rte_eth_bond_active_members_get rte_eth_bond_active_slaves_get
#define rte_eth_bond_8023ad_member_info rte_eth_bond_8023ad_slave_info
#endif

// Addresses of IPv6 headers are 16 octets as uint8_t[16], since 24.11 as struct rte_ipv6_addr. An
// address in the form of struct ip_addr serves both families, so that of a header that ipv6_check()
// has passed is not taken for one of IPv4.
static inline struct ip_addr ipv6_src(const struct rte_ipv6_hdr *ip)
{
	struct ip_addr a;

	memcpy(&a, &ip->src_addr, sizeof(a));
	return a;
}

static inline struct ip_addr ipv6_dst(const struct rte_ipv6_hdr *ip)
{
	struct ip_addr a;

	memcpy(&a, &ip->dst_addr, sizeof(a));
	return a;
}

static inline void ipv6_src_set(struct rte_ipv6_hdr *ip, const struct ip_addr *a)
{
	memcpy(&ip->src_addr, a, sizeof(ip->src_addr));
}

static inline void ipv6_dst_set(struct rte_ipv6_hdr *ip, const struct ip_addr *a)
{
	memcpy(&ip->dst_addr, a, sizeof(ip->dst_addr));
}
