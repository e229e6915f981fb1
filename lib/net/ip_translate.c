// SPDX-License-Identifier: BSD-3-Clause
#include "ip_translate.h"

#include <rte_tcp.h>
#include <rte_udp.h>

#include "icmp.h"

// The sum of new octets minus the sum of the octets that they replace, by 16 bits in one's
// complement arithmetic, not folded.
typedef uint32_t sum_t;

// Replaces an even number of octets at an even distance from the start of a checksum's data.
static void put(void *at, const void *octets, unsigned int len, sum_t *sum)
{
	for (unsigned int i = 0; i < len; i += 2) {
		uint16_t old, new;

		memcpy(&old, (const uint8_t *)at + i, sizeof(old));
		memcpy(&new, (const uint8_t *)octets + i, sizeof(new));
		*sum += (uint16_t)~old + new;
	}
	memcpy(at, octets, len);
}

// RFC 1624, equation 3.
static uint16_t checksum_after(uint16_t before, sum_t sum)
{
	sum += (uint16_t)~before;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

// Brings a checksum up to date; *outer: the sum of the data around it.
static void checksum_put(void *at, sum_t sum, sum_t *outer)
{
	uint16_t checksum;

	memcpy(&checksum, at, sizeof(checksum));
	checksum = checksum_after(checksum, sum);
	put(at, &checksum, sizeof(checksum), outer);
}

// RFC 768: 0 means that there is none; over IPv6 some tunnels have none (RFC 6935).
static void udp_checksum_put(void *at, sum_t sum, sum_t *outer)
{
	uint16_t checksum;

	memcpy(&checksum, at, sizeof(checksum));
	if (checksum == 0)
		return;
	checksum = checksum_after(checksum, sum);
	if (checksum == 0)
		checksum = UINT16_MAX;
	put(at, &checksum, sizeof(checksum), outer);
}

// Writes the addresses, and of IPv4 the checksum of the header. Returns the sum for a pseudo
// header.
static sum_t addresses_put(
	void *ip, bool v4, const struct ip_addr *src, const struct ip_addr *dst, sum_t *outer)
{
	struct rte_ipv4_hdr *ip4 = ip;
	struct rte_ipv6_hdr *ip6 = ip;
	sum_t sum = 0;

	if (!v4) {
		put(&ip6->src_addr, src, sizeof(*src), &sum);
		put(&ip6->dst_addr, dst, sizeof(*dst), &sum);
		*outer += sum;
		return sum;
	}

	rte_be32_t from = ip_addr_v4(src), to = ip_addr_v4(dst);

	put(&ip4->src_addr, &from, sizeof(from), &sum);
	put(&ip4->dst_addr, &to, sizeof(to), &sum);
	*outer += sum;
	checksum_put(&ip4->hdr_checksum, sum, outer);
	return sum;
}

// Writes ports or the identifier in the first len octets of the upper layer. sum: of the pseudo
// header.
static void upper_put(void *l4, uint32_t len, const struct ip_layout *at, const struct ip_ends *to,
	sum_t sum, sum_t *outer)
{
	struct rte_udp_hdr *udp = l4;
	struct rte_tcp_hdr *tcp = l4;
	struct icmp_head *icmp = l4;
	sum_t ports = 0;

	switch (at->proto) {
	case IPPROTO_TCP:
		put(&tcp->src_port, &to->src_port, sizeof(to->src_port), &ports);
		put(&tcp->dst_port, &to->dst_port, sizeof(to->dst_port), &ports);
		*outer += ports;
		if (len >= offsetof(struct rte_tcp_hdr, cksum) + sizeof(tcp->cksum))
			checksum_put(&tcp->cksum, sum + ports, outer);
		break;
	case IPPROTO_UDP:
		put(&udp->src_port, &to->src_port, sizeof(to->src_port), &ports);
		put(&udp->dst_port, &to->dst_port, sizeof(to->dst_port), &ports);
		*outer += ports;
		udp_checksum_put(&udp->dgram_cksum, sum + ports, outer);
		break;
	case IPPROTO_UDPLITE:
		if (len >= sizeof(*udp))
			udp_checksum_put(&udp->dgram_cksum, sum, outer);
		break;
	case IPPROTO_DCCP: // at the same offset
		if (len >= sizeof(*udp))
			checksum_put(&udp->dgram_cksum, sum, outer);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if ((at->proto == IPPROTO_ICMP) != at->v4)
			break; // of the other family: it may have no octet
		if (icmp_has_ident(icmp->type, at->v4)) {
			put(&icmp->param, &to->src_port, sizeof(to->src_port), &ports);
			*outer += ports;
		}
		checksum_put(&icmp->cksum, at->v4 ? ports : sum + ports, outer);
		break;
	default:
		break;
	}
}

void ip_translate(void *ip, struct ip_layout *at, const struct ip_ends *to)
{
	const uint32_t len = ip_len(ip, at->v4) - at->l4_off;
	sum_t none = 0, sum = addresses_put(ip, at->v4, &to->src, &to->dst, &none);

	upper_put(RTE_PTR_ADD(ip, at->l4_off), len, at, to, sum, &none);
	ip_layout_read_l4(at, ip, at->l4_off + len);
}

void ip_translate_error(void *ip, const struct ip_layout *at, const struct ip_addr *src,
	const struct ip_ends *quoted)
{
	struct icmp_head *icmp = RTE_PTR_ADD(ip, at->l4_off);
	void *about = icmp + 1;
	uint32_t len = ip_len(ip, at->v4) - at->l4_off - (uint32_t)sizeof(*icmp);
	sum_t none = 0, inner = 0, sum;
	struct ip_layout in;

	if (!ip_layout_quoted(&in, about, &len, at->v4))
		return;
	sum = addresses_put(about, at->v4, &quoted->src, &quoted->dst, &inner);
	upper_put(RTE_PTR_ADD(about, in.l4_off), len, &in, quoted, sum, &inner);
	sum = addresses_put(ip, at->v4, src, &quoted->src, &none);
	checksum_put(&icmp->cksum, at->v4 ? inner : inner + sum, &none);
}
