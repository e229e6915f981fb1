// SPDX-License-Identifier: BSD-3-Clause
#include "esp_in.h"

#include <rte_ip.h>

#include "ecn.h"
#include "esp_transport.h"
#include "ipv4.h"
#include "ipv6.h"
#include "l4_checksum.h"

// Computes DSCP and ECN of the inner header. DSCP is its own, or that of the outer header if the SA
// asks for it (RFC 2983); ECN comes from both (RFC 6040 4.2). Where the SA ignores ECN, the outer
// one counts as not-ECT, which changes nothing. False if the packet has to be dropped.
static bool decapsulate(uint8_t *tos, const struct sa *sa, uint8_t outer)
{
	uint8_t dscp_copied = sa->per_packet.tos_copied & ~ECN_MASK, inner = *tos, ecn;

	if (!ecn_decapsulate(&ecn, inner & ECN_MASK, outer & sa->per_packet.tos_copied & ECN_MASK))
		return false;
	*tos = (uint8_t)((outer & dscp_copied) | (inner & ~dscp_copied & ~ECN_MASK) | ecn);
	return true;
}

static enum drop merge_v4(const struct sa *sa, struct rte_ipv4_hdr *inner, uint8_t outer_tos)
{
	uint8_t tos = inner->type_of_service;

	if (!decapsulate(&tos, sa, outer_tos))
		return DROP_ECN;
	if (tos != inner->type_of_service) {
		inner->type_of_service = tos;
		ipv4_checksum_set(inner);
	}
	return DROP_NONE;
}

enum drop esp_in_extract_unusual_v4(
	const struct sa *sa, struct rte_mbuf *m, uint8_t *inner, uint16_t len, uint8_t outer_tos)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)inner;
	enum drop d;

	if (ipv4_check(ip, len, false) != IPV4_GOOD ||
		ipv4_options_check(ip) == IPV4_OPTIONS_MALFORMED)
		return DROP_INNER_HEADER;
	d = merge_v4(sa, ip, outer_tos);
	if (d == DROP_NONE)
		esp_in_cut_to(m, ip, rte_be_to_cpu_16(ip->total_length));
	return d;
}

enum drop esp_in_extract_unusual_v6(
	const struct sa *sa, struct rte_mbuf *m, uint8_t *inner, uint16_t len, uint8_t outer_tos)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)inner;
	uint8_t tos;

	if (ipv6_check(ip, len) != IPV6_GOOD)
		return DROP_INNER_HEADER;
	tos = ipv6_tos(ip);
	if (!decapsulate(&tos, sa, outer_tos))
		return DROP_ECN;
	ipv6_tos_set(ip, tos);
	esp_in_cut_to(m, ip, ipv6_len(ip));
	return DROP_NONE;
}

// Transport mode: the IP header moves up to the content of ESP, which may be anything, IP included.
enum drop esp_in_rejoin(const struct sa *sa, struct rte_mbuf *m, const struct ip_layout *outer,
	uint8_t *inner, uint16_t len, uint8_t next_header)
{
	uint16_t off = outer->l4_off;
	uint16_t next_off = ip_layout_next_off(rte_pktmbuf_mtod(m, void *), outer);

	if (next_header == IPPROTO_NONE)
		return DROP_DUMMY;
	memmove(inner - off, rte_pktmbuf_mtod(m, void *), off);
	esp_in_cut_to(m, inner - off, (uint32_t)off + len);
	ip_header_update(m, next_off, next_header);
	// A NAT has changed an address that the inner checksum covers (RFC 3948 3.1.2).
	if (sa->udp_port != 0)
		l4_checksum_recompute(rte_pktmbuf_mtod(m, void *));
	return DROP_NONE;
}
