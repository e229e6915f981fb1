// SPDX-License-Identifier: BSD-3-Clause
#include "originate.h"

#include "arp.h"
#include "nd.h"
#include "neigh_lookup.h"

static void send_frame(struct control *c, struct rte_mbuf *m, uint16_t port)
{
	c->counters.originated++;
	if (c->io->send(c->io_arg, port, m))
		return;
	c->counters.drops[DROP_RING_FULL]++;
	rte_pktmbuf_free(m);
}

void originate_packet(
	struct control *c, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *to)
{
	bool v4 = ip_is_v4(rte_pktmbuf_mtod(m, const void *));
	struct rte_ether_hdr *eth =
		(struct rte_ether_hdr *)rte_pktmbuf_prepend(m, sizeof(struct rte_ether_hdr));

	eth->dst_addr = *to;
	eth->src_addr = c->ports[port].mac;
	eth->ether_type = v4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4) : RTE_BE16(RTE_ETHER_TYPE_IPV6);
	send_frame(c, m, port);
}

static void send_arp(struct control *c, uint16_t port, const struct rte_ether_addr *mac,
	rte_be32_t sender, rte_be32_t target, const struct rte_ether_addr *to)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(c->pool);

	if (m == NULL)
		return;
	arp_request_build((uint8_t *)rte_pktmbuf_append(m, ARP_FRAME_LEN), mac, sender, target, to);
	send_frame(c, m, port);
}

// sender none (::): detects duplicates of target.
static void send_nd(struct control *c, uint16_t port, const struct ip_addr *sender,
	const struct ip_addr *target, const struct rte_ether_addr *to)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(c->pool);

	if (m == NULL)
		return;
	rte_pktmbuf_append(m, nd_solicitation_build(rte_pktmbuf_mtod(m, uint8_t *),
				      &c->ports[port].mac, sender, target, to));
	send_frame(c, m, port);
}

// The own address to solicit addr from: on its network, else the first, of IPv6 if it is assigned
// (RFC 4861 7.2.2, RFC 4862 5.4). NULL if there is none.
static const struct ip_addr *sender_for(
	const struct control *c, uint16_t port, const struct ip_addr *addr)
{
	const struct conf_port *p = &c->conf->ports[port];
	const struct ip_addr *other = NULL;

	for (unsigned int i = 0; i < p->n_addrs; i++) {
		const struct ip_addr *own = &p->addrs[i].addr;

		if (ip_addr_family(own) != ip_addr_family(addr) ||
			dad_state(c->dad, port, own) != DAD_ASSIGNED)
			continue;
		if (ip_prefix_contains(&p->addrs[i].net, addr))
			return own;
		if (other == NULL)
			other = own;
	}
	return other;
}

void originate_solicitation(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	struct control *c = arg;
	const struct ip_addr *sender = sender_for(c, port, addr);

	if (sender == NULL)
		return;
	if (ip_addr_is_v4(addr))
		send_arp(c, port, &c->ports[port].mac, ip_addr_v4(sender), ip_addr_v4(addr), to);
	else
		send_nd(c, port, sender, addr, to);
}

void originate_dad_solicitation(void *arg, uint16_t port, const struct ip_addr *addr)
{
	const struct ip_addr none = {0};

	send_nd(arg, port, &none, addr, NULL);
}

// RFC 5227 2.3, RFC 4861 7.2.6
void originate_announcement(struct control *c, uint16_t port, const struct ip_addr *addr)
{
	const struct rte_ether_addr *mac = snapshot_port_mac(&c->snapshot->port[port], addr);
	struct rte_mbuf *m;

	if (mac == NULL)
		return;
	if (ip_addr_is_v4(addr)) {
		send_arp(c, port, mac, ip_addr_v4(addr), ip_addr_v4(addr), NULL);
		return;
	}
	m = rte_pktmbuf_alloc(c->pool);
	if (m == NULL)
		return;
	rte_pktmbuf_append(m, nd_announcement_build(rte_pktmbuf_mtod(m, uint8_t *), mac, addr));
	send_frame(c, m, port);
}

void originate_announcements(struct control *c, uint16_t port)
{
	const struct snapshot_port *p = &c->snapshot->port[port];

	for (unsigned int i = 0; i < p->n_addrs; i++)
		if (dad_state(c->dad, port, &p->addrs[i]) == DAD_ASSIGNED)
			originate_announcement(c, port, &p->addrs[i]);
}

// Whether the link address of the next hop to the peer of an SA is known; if not it is resolved.
static bool find_next_hop(struct control *c, const struct sa_out *sa, const struct nexthop *nh,
	struct rte_ether_addr *mac, uint64_t now_ms)
{
	static struct neigh_hints hints;
	const struct ip_addr *next = nh->kind == NEXTHOP_GATEWAY ? &nh->gateway : &sa->peer.addr;
	uint32_t sought = neigh_lookup_start(c->neigh, &hints, nh->iface, next);

	if (neigh_lookup(c->neigh, &hints, sought, nh->iface, next, mac) == NEIGH_KNOWN)
		return true;
	neigh_resolve(c->neigh, nh->iface, next, NEIGH_HOLDER_OWN, now_ms);
	return false;
}

bool originate_by_sa(
	struct control *c, struct sa_out *sa, originate_make *make, void *arg, uint64_t now_ms)
{
	const struct nexthop *nh = sa_out_path(sa)->nexthop;
	struct rte_ether_addr mac;
	struct rte_mbuf *m;

	if (nh == NULL || !find_next_hop(c, sa, nh, &mac, now_ms))
		return false;
	m = rte_pktmbuf_alloc(c->pool);
	if (m == NULL)
		return false;
	if (!make(sa, m, arg)) {
		rte_pktmbuf_free(m);
		return false;
	}
	originate_packet(c, m, nh->iface, &mac);
	return true;
}
