// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

#include "arp.h"
#include "dad.h"
#include "egress.h"
#include "forward.h"
#include "input_check.h"
#include "ip_view.h"
#include "nd.h"
#include "output.h"
#include "pkt_drop.h"
#include "policy.h"
#include "policy_find.h"
#include "sort.h"
#include "tracepoint.h"

#define MLD_QUERY 130 // RFC 3810 5
#define MLD_V2    143

static bool is_icmp6_of(const struct pkt *p, uint8_t first, uint8_t last)
{
	return !p->ip.v4 && p->ip.proto == IPPROTO_ICMPV6 && p->ip.icmp_type >= first &&
	       p->ip.icmp_type <= last;
}

// Whether a frame announces an address (RFC 5227 2.3, RFC 4861 7.2.6), and which.
static bool is_announcement(struct rte_mbuf *m, struct ip_addr *addr)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_arp_hdr *arp = (const struct rte_arp_hdr *)(eth + 1);
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)(eth + 1);
	uint32_t len = rte_pktmbuf_data_len(m);
	struct nd_message nd;

	if (len < sizeof(*eth))
		return false;
	len -= (uint32_t)sizeof(*eth);
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP) && arp_check(arp, len)) {
		*addr = ip_addr_from_v4(arp->arp_data.arp_sip);
		return arp->arp_data.arp_sip == arp->arp_data.arp_tip;
	}
	if (eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV6) ||
		input_check_v6(ip, len) != DROP_NONE || nd_read(&nd, ip) != ND_GOOD)
		return false;
	*addr = nd.target;
	return nd.kind == ND_ADVERTISEMENT && !nd.solicited;
}

// The gateway announces its address instead of the host.
static enum drop announce(struct worker *w, struct pkt *p, const struct ip_addr *addr)
{
	const struct rte_ether_addr *mac = snapshot_port_mac(pkt_link(w, p), addr);
	uint8_t *frame;

	if (dad_is_standby(w->dad, addr))
		return DROP_STANDBY;
	if (mac == NULL || dad_state(w->dad, pkt_port(w, p), addr) != DAD_ASSIGNED)
		return DROP_HOST_SOURCE;
	if (!host_take_token(w, p, (struct host_limit){HOST_SENT_NEW, HOST_OWN}))
		return DROP_HOST_LIMIT;
	rte_pktmbuf_trim(p->m, rte_pktmbuf_data_len(p->m));
	frame = rte_pktmbuf_mtod(p->m, uint8_t *);
	if (ip_addr_is_v4(addr)) {
		arp_request_build(frame, mac, ip_addr_v4(addr), ip_addr_v4(addr), NULL);
		rte_pktmbuf_append(p->m, ARP_FRAME_LEN);
	} else {
		rte_pktmbuf_append(p->m, nd_announcement_build(frame, mac, addr));
	}
	output_frame(w, p->m, pkt_port(w, p));
	return DROP_NONE;
}

// Whether the host has no address yet, and asks for one (RFC 2131 4.1).
static bool asks_unnumbered(const struct worker *w, const struct pkt *p)
{
	return p->ip.v4 && pkt_ip(p)->src_addr == 0 && pkt_ip(p)->dst_addr == UINT32_MAX &&
	       host_client_asks(w, p);
}

// Removes the octets after the packet.
static enum drop packet_check(const struct worker *w, struct pkt *p, bool v4)
{
	const uint32_t len = rte_pktmbuf_data_len(p->m);
	enum drop d = v4 ? input_check_v4(pkt_ip(p), len, false) : input_check_v6(pkt_ip6(p), len);
	enum drop options;

	if (d != DROP_NONE && (!v4 || d != DROP_IP_SOURCE)) // the source is checked last
		return d;
	rte_pktmbuf_trim(p->m, (uint16_t)(len - ip_len(pkt_ip(p), v4)));
	if (!ip_layout_read(&p->ip, pkt_ip(p)))
		return DROP_EXT_HEADERS;
	options = v4 ? input_check_options(pkt_ip(p)) : DROP_NONE;
	if (options != DROP_NONE)
		return options;
	if (d != DROP_NONE)
		return asks_unnumbered(w, p) ? DROP_NONE : d;
	return host_is_link_control(p) && !is_icmp6_of(p, ND_ROUTER_ADVERT, ND_ROUTER_ADVERT) &&
			       !host_client_asks(w, p)
		       ? DROP_HOST_FRAME
		       : DROP_NONE;
}

// Removes the Ethernet header, too.
static enum drop frame_check(const struct worker *w, struct pkt *p)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	bool v4;

	if (rte_pktmbuf_data_len(p->m) < sizeof(*eth))
		return DROP_FRAME_SHORT;
	v4 = eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4);
	if (!v4 && eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV6))
		return DROP_HOST_FRAME;
	rte_pktmbuf_adj(p->m, sizeof(*eth));
	return packet_check(w, p, v4);
}

// Reports of groups, and queries, are about the link alone, as those of the gateway.
static bool is_about_groups(const struct pkt *p)
{
	return p->ip.v4
		       ? p->ip.proto == IPPROTO_IGMP
		       : is_icmp6_of(p, MLD_QUERY, MLD_QUERY + 2) || is_icmp6_of(p, MLD_V2, MLD_V2);
}

static enum drop check_group_policy(struct worker *w, struct pkt *p)
{
	const struct ip_view v = pkt_view(p);
	enum drop d;

	p->nexthop = &pkt_link(w, p)->on_link;
	if (!policy_is_outbound(w, p) || is_about_groups(p) || host_client_asks(w, p))
		return DROP_NONE;
	d = policy_check_outbound(w, p, policy_find_outbound(w->snapshot, &v));
	return d == DROP_NONE && p->sa_out != NULL ? DROP_NOT_UNICAST : d;
}

// The link address that a packet for a group is sent from: that of a virtual router if the host
// uses it (RFC 5798 7.3).
static const struct rte_ether_addr *source_mac(const struct worker *w, const struct pkt *p)
{
	const struct snapshot_port *port = pkt_link(w, p);
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod_offset(
		p->m, const struct rte_ether_hdr *, -(int)sizeof(struct rte_ether_hdr));

	return snapshot_port_is_at(port, &eth->src_addr) ? &eth->src_addr : &port->mac;
}

// Sends a packet for a group, whole or a fragment, as the host has sent it.
static enum drop group_output(struct worker *w, struct pkt *p, const struct rte_ether_addr *mac)
{
	enum drop d = check_group_policy(w, p);

	if (d != DROP_NONE)
		return d;
	if (rte_pktmbuf_data_len(p->m) > pkt_iface(w, p)->mtu)
		return DROP_TOO_BIG;
	output_from(w, p->m, pkt_port(w, p), source_mac(w, p), mac);
	trace_note(w, p, TRACE_SENT, (struct trace_fact){.port = pkt_port(w, p) + 1});
	return DROP_NONE;
}

static enum drop admit(struct worker *w, struct pkt *p)
{
	const struct ip_addr src = pkt_src(p);

	if (unlikely(w->tracing != NULL))
		trace_from_host(w, p);
	if (dad_is_standby(w->dad, &src))
		return DROP_STANDBY;
	if ((!host_is_own(w, p, &src) || !dad_may_use(w->dad, &src)) && !asks_unnumbered(w, p))
		return DROP_HOST_SOURCE;
	return host_take_token(w, p, host_limit_sent(w, p)) ? DROP_NONE : DROP_HOST_LIMIT;
}

static enum drop frame_input(struct worker *w, struct pkt *p)
{
	struct rte_ether_addr mac;
	struct ip_addr dst;
	enum drop d;

	if (is_announcement(p->m, &dst))
		return announce(w, p, &dst);
	d = frame_check(w, p);
	if (d == DROP_NONE)
		d = admit(w, p);
	if (d != DROP_NONE)
		return d;
	dst = pkt_dst(p);
	if (host_is_group(w, pkt_port(w, p), &dst, &mac))
		return group_output(w, p, &mac);
	if (unlikely(host_client_asks(w, p)) && host_client_send(w, p))
		return DROP_NONE;
	return sort_packet(w, p);
}

// Of a host of a tunnel: there are no frames. Nobody at the other end of the tunnel needs to know
// groups: the packets for all of them are sent.
static enum drop packet_input(struct worker *w, struct pkt *p)
{
	const uint8_t version = *rte_pktmbuf_mtod(p->m, const uint8_t *) >> 4;
	enum drop d;

	if (version != 4 && version != 6)
		return DROP_HOST_FRAME;
	d = packet_check(w, p, version == 4);
	if (d == DROP_NONE && is_about_groups(p))
		return pkt_consume(w, p);
	if (d == DROP_NONE)
		d = admit(w, p);
	return d == DROP_NONE ? sort_packet(w, p) : d;
}

void host_input(struct worker *w, uint16_t n)
{
	struct rte_mbuf *m[RX_BURST_MAX];

	n = (uint16_t)rte_ring_dequeue_burst(w->from_host, (void **)m, n, NULL);
	for (uint16_t i = 0; i < n; i++) {
		struct pkt *p = pkt_new(w);
		enum drop d = DROP_HOST_DOWN;

		*p = (struct pkt){
			.m = m[i], .iface = (uint16_t)IFACE_HOST(m[i]->port), .keeps_ttl = true};
		if (m[i]->hash.usr == w->snapshot->host_since[m[i]->port])
			d = m[i]->port < PORTS_MAX ? frame_input(w, p) : packet_input(w, p);
		if (d != DROP_NONE)
			pkt_drop(w, p, d);
	}
}

void host_route_answer(
	const struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct flow *f)
{
	const struct ip_addr dst = pkt_dst(p);

	if (f == NULL || flow_reopens(f, fp) || flow_word_initiator(flow_word(f)) == fp->dir ||
		ip_addr_is_link_local(&dst) ||
		flow_admitted_by(f, !fp->dir) == snapshot_tunnel(w->snapshot, p->nexthop)->number)
		return;
	forward_find(w, p, egress_former(w, f, fp->dir));
}

void host_stop(struct worker *w)
{
	struct rte_mbuf *m;

	while (w->from_host != NULL && rte_ring_dequeue(w->from_host, (void **)&m) == 0)
		pkt_drop_left(w, m);
}
