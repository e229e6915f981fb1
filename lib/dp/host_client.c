// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

#include <netinet/icmp6.h>
#include <rte_udp.h>

#include "forward.h"

// RFC 2131 2, as far as it is read.
struct dhcp {
	uint8_t op, htype, hlen, unread[25];
	struct rte_ether_addr chaddr; // link address of the client
};

#define BOOT_REQUEST 1
#define BOOT_REPLY   2
#define ETHERNET     1 // htype

#define DHCP_SERVER   RTE_BE16(67)
#define DHCP_CLIENT   RTE_BE16(68)
#define DHCPV6_CLIENT RTE_BE16(546)
#define DHCPV6_SERVER RTE_BE16(547)
#define ND_HOP_LIMIT  255

static const struct rte_udp_hdr *udp_between(
	const struct pkt *p, rte_be16_t from, rte_be16_t to, uint32_t len)
{
	const struct rte_udp_hdr *udp =
		rte_pktmbuf_mtod_offset(p->m, const struct rte_udp_hdr *, p->ip.l4_off);

	if (p->ip.proto != IPPROTO_UDP || p->ip.fragment ||
		rte_pktmbuf_data_len(p->m) < p->ip.l4_off + sizeof(*udp) + len)
		return NULL;
	return udp->src_port == from && udp->dst_port == to ? udp : NULL;
}

// Whether it is DHCPv4 about the port: other stations on the link have other link addresses.
static bool is_dhcp(
	const struct worker *w, const struct pkt *p, uint8_t op, rte_be16_t from, rte_be16_t to)
{
	const struct rte_udp_hdr *udp = udp_between(p, from, to, sizeof(struct dhcp));
	const struct dhcp *dhcp;

	if (udp == NULL)
		return false;
	dhcp = (const struct dhcp *)(udp + 1);
	return dhcp->op == op && dhcp->htype == ETHERNET && dhcp->hlen == sizeof(dhcp->chaddr) &&
	       rte_is_same_ether_addr(&dhcp->chaddr, &pkt_link(w, p)->mac);
}

// RFC 4861 6.1: not from a router before this link.
static bool is_discovery(const struct pkt *p, uint8_t type)
{
	return !p->ip.v4 && p->ip.proto == IPPROTO_ICMPV6 && !p->ip.fragment &&
	       p->ip.icmp_type == type && pkt_ip6(p)->hop_limits == ND_HOP_LIMIT;
}

bool host_client_asks(const struct worker *w, const struct pkt *p)
{
	const struct iface *by = pkt_iface(w, p);
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);

	if (!by->is_host || !by->follows_host)
		return false;
	if (p->ip.v4)
		return is_dhcp(w, p, BOOT_REQUEST, DHCP_CLIENT, DHCP_SERVER);
	return ip_addr_is_link_local(&src) && dst.b[0] == 0xff &&
	       (is_discovery(p, ND_ROUTER_SOLICIT) ||
		       udp_between(p, DHCPV6_CLIENT, DHCPV6_SERVER, 0) != NULL);
}

bool host_client_send(struct worker *w, struct pkt *p)
{
	forward_find(w, p, NULL);
	if (p->nexthop == NULL || forward_check_route(p) != DROP_NONE ||
		p->nexthop->iface != pkt_port(w, p))
		return false;
	burst_add(&w->forward, p);
	return true;
}

bool host_client_is_answer(const struct worker *w, const struct pkt *p)
{
	const struct iface *by = pkt_iface(w, p);
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);

	if (!by->follows_host || by->is_host || p->sa_in != NULL ||
		host_behind(w, pkt_port(w, p)) == NULL)
		return false;
	if (p->ip.v4)
		return is_dhcp(w, p, BOOT_REPLY, DHCP_SERVER, DHCP_CLIENT) &&
		       (iface_has(by, &dst) || !host_is_own(w, p, &dst));
	if (is_discovery(p, ND_ROUTER_ADVERT))
		return ip_addr_is_link_local(&src) && (dst.b[0] == 0xff || iface_has(by, &dst));
	return iface_has(by, &dst) && udp_between(p, DHCPV6_SERVER, DHCPV6_CLIENT, 0) != NULL;
}

enum drop host_client_input(struct worker *w, struct pkt *p)
{
	enum drop d = forward_check_source(w, p);

	if (d == DROP_NONE)
		host_punt(w, p, pkt_iface(w, p)->host->iface,
			(struct host_limit){HOST_NEW, HOST_UNASKED});
	return d;
}
