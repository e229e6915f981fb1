// SPDX-License-Identifier: BSD-3-Clause
#include "trace_step.h"

#include <string.h>

#include <rte_arp.h>
#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "icmp.h"
#include "ipv4.h"
#include "ipv6.h"

const struct trace_info trace_info[TRACE_KINDS] = {
#define TRACE(id, text, what, why)                                                                 \
	[TRACE_##id] = {.stage = #text, .decision = why, .names = TRACE_NAMES_##what},
#include "trace.def"
#undef TRACE
};

#define TCP_FLAGS_OFF 13
#define ESP_IN_UDP    RTE_BE16(4500) // RFC 3948
#define ICMP_MTU_OFF  6              // IPv6: its lower half

static void read_icmp(struct trace_header *h, const uint8_t *l4, uint32_t len)
{
	if (len < 2)
		return;
	h->has_icmp = true;
	h->icmp_type = l4[0];
	h->icmp_code = l4[1];

	bool too_big = h->proto == IPPROTO_ICMP
			       ? l4[0] == ICMP_UNREACHABLE && l4[1] == ICMP_UNREACH_NEEDFRAG
			       : l4[0] == ICMP6_PACKET_TOO_BIG;

	if (too_big && len >= ICMP_MTU_OFF + sizeof(uint16_t))
		h->mtu_told = (uint16_t)(l4[ICMP_MTU_OFF] << 8 | l4[ICMP_MTU_OFF + 1]);
}

static void read_esp(struct trace_header *h, const uint8_t *l4, uint32_t len)
{
	struct rte_esp_hdr esp;

	if (len < sizeof(esp))
		return;
	memcpy(&esp, l4, sizeof(esp));
	h->has_esp = esp.spi != 0; // otherwise it is IKE (RFC 3948 2.2)
	h->spi = esp.spi;
	h->seq = esp.seq;
}

static void read_upper(struct trace_header *h, const uint8_t *l4, uint32_t len)
{

	if (h->proto == IPPROTO_ICMP || h->proto == IPPROTO_ICMPV6)
		read_icmp(h, l4, len);
	if (h->proto == IPPROTO_ESP)
		read_esp(h, l4, len);
	if (!ip_proto_has_ports(h->proto) || len < 2 * sizeof(h->src_port))
		return;
	h->has_ports = true;
	memcpy(&h->src_port, l4, sizeof(h->src_port));
	memcpy(&h->dst_port, l4 + sizeof(h->src_port), sizeof(h->dst_port));
	if (h->proto == IPPROTO_UDP && len > sizeof(struct rte_udp_hdr) &&
		(h->src_port == ESP_IN_UDP || h->dst_port == ESP_IN_UDP))
		read_esp(h, l4 + sizeof(struct rte_udp_hdr),
			len - (uint32_t)sizeof(struct rte_udp_hdr));
	if (h->proto == IPPROTO_TCP && len > TCP_FLAGS_OFF)
		h->tcp_flags = l4[TCP_FLAGS_OFF];
}

static void read_v4(struct trace_header *h, const uint8_t *data, uint32_t len)
{
	struct rte_ipv4_hdr ip;
	uint32_t hdr_len;
	uint16_t offset;

	if (len < sizeof(ip))
		return;
	memcpy(&ip, data, sizeof(ip));
	hdr_len = rte_ipv4_hdr_len(&ip);
	offset = rte_be_to_cpu_16(ip.fragment_offset);
	h->has_ip = true;
	h->src = ip_addr_from_v4(ip.src_addr);
	h->dst = ip_addr_from_v4(ip.dst_addr);
	h->proto = ip.next_proto_id;
	h->ttl = ip.time_to_live;
	h->df = (offset & RTE_IPV4_HDR_DF_FLAG) != 0;
	h->more = (offset & RTE_IPV4_HDR_MF_FLAG) != 0;
	h->frag_off = (offset & RTE_IPV4_HDR_OFFSET_MASK) * RTE_IPV4_HDR_OFFSET_UNITS;
	h->fragment = h->more || h->frag_off > 0;
	if (h->frag_off == 0 && hdr_len >= sizeof(ip) && hdr_len < len)
		read_upper(h, data + hdr_len, len - hdr_len);
}

static void read_fragment_v6(struct trace_header *h, const uint8_t *ext)
{
	uint16_t data;

	memcpy(&data, ext + offsetof(struct rte_ipv6_fragment_ext, frag_data), sizeof(data));
	data = rte_be_to_cpu_16(data);
	h->fragment = true;
	h->more = (data & IPV6_FRAGMENT_MORE) != 0;
	h->frag_off = data & IPV6_FRAGMENT_OFFSET;
}

static void read_v6(struct trace_header *h, const uint8_t *data, uint32_t len)
{
	struct rte_ipv6_hdr ip;
	struct ipv6_upper upper;

	if (len < sizeof(ip))
		return;
	memcpy(&ip, data, sizeof(ip));
	h->has_ip = true;
	h->src = ipv6_src(&ip);
	h->dst = ipv6_dst(&ip);
	h->proto = ip.proto;
	h->ttl = ip.hop_limits;
	len = RTE_MIN(len, ipv6_len(&ip));
	if (ipv6_upper_find(&upper, (const struct rte_ipv6_hdr *)data, len) != IPV6_GOOD)
		return;
	h->proto = upper.proto;
	if (upper.fragment)
		read_fragment_v6(h, data + upper.frag_off);
	if (!upper.later)
		read_upper(h, data + upper.off, len - upper.off);
}

void trace_header_read_ip(struct trace_header *h, const uint8_t *ip, uint32_t len)
{
	*h = (struct trace_header){0};
	if (len > 0 && ip[0] >> 4 == 4)
		read_v4(h, ip, len);
	else if (len > 0 && ip[0] >> 4 == 6)
		read_v6(h, ip, len);
}

static void read_arp(struct trace_header *h, const uint8_t *data, uint32_t len)
{
	struct rte_arp_hdr arp;

	if (len < sizeof(arp))
		return;
	memcpy(&arp, data, sizeof(arp));
	h->src = ip_addr_from_v4(arp.arp_data.arp_sip);
	h->dst = ip_addr_from_v4(arp.arp_data.arp_tip);
}

void trace_header_read_frame(struct trace_header *h, const uint8_t *frame, uint32_t len)
{
	struct rte_ether_hdr eth;

	*h = (struct trace_header){0};
	if (len < sizeof(eth))
		return;
	memcpy(&eth, frame, sizeof(eth));
	frame += sizeof(eth);
	len -= (uint32_t)sizeof(eth);
	if (eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		read_arp(h, frame, len);
	else if (eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
		 eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6))
		trace_header_read_ip(h, frame, len);
	h->ether_type = eth.ether_type;
}
