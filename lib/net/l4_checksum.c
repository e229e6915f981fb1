// SPDX-License-Identifier: BSD-3-Clause
#include "l4_checksum.h"

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "icmp.h"
#include "ip_layout.h"
#include "ipv4.h"
#include "ipv6.h"

// Payload of an IP packet.
struct upper {
	uint8_t *at;
	uint32_t len;
	uint8_t proto;
};

static bool upper_read(struct upper *u, uint8_t *packet)
{
	struct ip_layout at;

	if (!ip_layout_read(&at, packet) || at.fragment)
		return false;
	*u = (struct upper){packet + at.l4_off, ip_len(packet, at.v4) - at.l4_off, at.proto};
	return true;
}

// The checksum field, or NULL.
static uint16_t *checksum_field(const struct upper *u)
{
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)u->at;

	switch (u->proto) {
	case IPPROTO_TCP:
		return u->len < sizeof(struct rte_tcp_hdr) ? NULL
							   : &((struct rte_tcp_hdr *)u->at)->cksum;
	case IPPROTO_UDP:
		if (u->len < sizeof(*udp) || rte_be_to_cpu_16(udp->dgram_len) != u->len)
			return NULL;
		return udp->dgram_cksum != 0 ? &udp->dgram_cksum : NULL;
	case IPPROTO_ICMPV6:
		return u->len < sizeof(struct icmp_head) ? NULL
							 : &((struct icmp_head *)u->at)->cksum;
	default:
		return NULL;
	}
}

static uint16_t checksum_compute(const void *ip, const struct upper *u)
{
	uint32_t sum;

	if (!ip_is_v4(ip))
		return ipv6_checksum(ip, u->proto, u->at, u->len);
	sum = __rte_raw_cksum(u->at, u->len, rte_ipv4_phdr_cksum(ip, 0));
	return (uint16_t)~__rte_raw_cksum_reduce(sum);
}

void l4_checksum_recompute(void *ip)
{
	struct upper u;
	uint16_t *sum = upper_read(&u, ip) ? checksum_field(&u) : NULL;

	if (sum == NULL || (u.proto == IPPROTO_ICMPV6 && ip_is_v4(ip)))
		return;
	*sum = 0;
	*sum = checksum_compute(ip, &u);
	if (*sum == 0 && u.proto == IPPROTO_UDP)
		*sum = UINT16_MAX;
}

// Sum of the pseudo header, folded but not inverted, for a packet without extension headers.
static uint16_t pseudo_header_sum(const void *ip, const struct upper *u)
{
	struct rte_ipv6_hdr plain;

	if (ip_is_v4(ip))
		return rte_ipv4_phdr_cksum(ip, 0);
	memcpy(&plain, ip, sizeof(plain));
	plain.payload_len = rte_cpu_to_be_16((uint16_t)u->len);
	plain.proto = u->proto;
	return rte_ipv6_phdr_cksum(&plain, 0);
}

static bool is_whole(const void *ip, uint32_t len)
{
	if (len == 0)
		return false;
	return ip_is_v4(ip) ? ipv4_check(ip, len, false) == IPV4_GOOD
			    : ipv6_check(ip, len) == IPV6_GOOD;
}

// A correct checksum that equals this sum by chance stays the same, as it completes itself.
bool l4_checksum_complete(void *ip, uint32_t len)
{
	struct upper u;
	uint16_t *field, sum;

	if (!is_whole(ip, len) || !upper_read(&u, ip) || !ip_proto_has_ports(u.proto))
		return false;
	field = checksum_field(&u);
	if (field == NULL || *field != pseudo_header_sum(ip, &u))
		return false;
	sum = (uint16_t)~rte_raw_cksum(u.at, u.len);
	if (sum == 0 && u.proto == IPPROTO_UDP)
		sum = UINT16_MAX;
	if (sum == *field)
		return false;
	*field = sum;
	return true;
}
