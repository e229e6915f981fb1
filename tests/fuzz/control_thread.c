// SPDX-License-Identifier: BSD-3-Clause
#include "control_thread.h"

#include "address.h"
#include "arp.h"
#include "control.h"
#include "event_log.h"
#include "groups.h"
#include "log.h"
#include "nd.h"
#include "packet.h"
#include "path_mtu.h"
#include "peer.h"
#include "retire.h"
#include "test.h"

static struct gateway g;
static struct control_thread self;

// --- what stands for the rest of the daemon ---

// The test runs no worker meanwhile.
void retire(struct gateway *gateway, void *memory)
{
	(void)gateway;
	free(memory);
}

void __wrap_log_line(enum log_level level, const char *fmt, ...);

void __wrap_log_line(enum log_level level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

void event_log_add(enum event_id id, const struct event_value values[])
{
	(void)id, (void)values;
}

void port_listen(struct port *p, const struct ip_addr group[], unsigned int n)
{
	(void)p, (void)group;
	assert_in_range(n, 1, PORT_GROUPS_MAX);
}

void control_send_packet(
	struct gateway *gateway, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *to)
{
	bool v4 = ip_is_v4(rte_pktmbuf_mtod(m, const void *));
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)rte_pktmbuf_prepend(m, sizeof(*eth));

	*eth = (struct rte_ether_hdr){.dst_addr = *to,
		.src_addr = gateway->ports[port].mac,
		.ether_type = v4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4) : RTE_BE16(RTE_ETHER_TYPE_IPV6)};
	self.sent(port, (const uint8_t *)eth, rte_pktmbuf_data_len(m));
	rte_pktmbuf_free(m);
}

// What is sent about a neighbour can be read as such.
static void nd_sent(uint16_t port, const uint8_t *frame, uint16_t len)
{
	struct nd_message m;

	assert_int_equal(nd_read(&m, (const struct rte_ipv6_hdr *)(frame + ETH_LEN)), ND_GOOD);
	self.sent(port, frame, len);
}

void control_dad_solicit(void *arg, uint16_t port, const struct ip_addr *addr)
{
	static const struct ip_addr none;
	uint8_t frame[ND_FRAME_LEN];

	(void)arg;
	nd_sent(port, frame, nd_solicitation_build(frame, &g.ports[port].mac, &none, addr, NULL));
}

void control_announce_addr(struct gateway *gateway, uint16_t port, const struct ip_addr *addr)
{
	uint8_t frame[ND_FRAME_LEN];

	nd_sent(port, frame, nd_announcement_build(frame, &gateway->ports[port].mac, addr));
}

// --- for the test ---

static const struct ip_addr *own_address(uint16_t port, bool v4)
{
	const struct conf_port *c = &g.conf->ports[port];
	unsigned int i = 0;

	while (i < c->n_addrs && ip_addr_is_v4(&c->addrs[i].addr) != v4)
		i++;
	assert_in_range(i, 0, c->n_addrs - 1);
	return &c->addrs[i].addr;
}

void control_thread_ask(uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	const struct ip_addr *own = own_address(port, ip_addr_is_v4(addr));
	const struct rte_ether_addr *mac = &g.ports[port].mac;
	uint8_t frame[ND_FRAME_LEN];

	if (!ip_addr_is_v4(addr)) {
		nd_sent(port, frame, nd_solicitation_build(frame, mac, own, addr, to));
		return;
	}
	arp_request_build(frame, mac, ip_addr_v4(own), ip_addr_v4(addr), to);
	assert_true(arp_check((const struct rte_arp_hdr *)(frame + ETH_LEN),
		ARP_FRAME_LEN - ETH_LEN, (const struct rte_ether_hdr *)frame));
	self.sent(port, frame, ARP_FRAME_LEN);
}

struct dad *control_thread_init(const struct control_thread *c)
{
	self = *c;
	g = (struct gateway){.conf = c->conf, .pool = c->pool};
	for (uint16_t i = 0; i < g.conf->n_ports; i++)
		memcpy(&g.ports[i].mac, mac_of_port(i), sizeof(g.ports[i].mac));
	assert_int_equal(address_init(&g), 0);
	assert_int_equal(groups_init(&g), 0);
	return g.dad;
}

void control_thread_start(struct snapshot *s, struct neigh_table *neigh)
{
	g.snapshot = s;
	g.neigh = neigh;
	address_start(&g, s);
}

void control_thread_reloaded(struct conf *conf, struct snapshot *s)
{
	g.conf = conf;
	g.snapshot = s;
	address_apply(&g, s);
	peers_follow(&g, s);
	path_mtus_apply(&g);
}

void control_thread_link_up(uint16_t port)
{
	neigh_forget(g.neigh, port);
	address_restart(&g, port);
}

void control_thread_event(const struct event *e, uint64_t now)
{
	const struct neigh_advert advert = {.mac = e->has_mac ? &e->mac : NULL,
		.solicited = e->solicited,
		.override = e->override};

	switch ((enum event_kind)e->kind) {
	case EVENT_NEIGH_NEEDED:
		return neigh_resolve(g.neigh, e->port, &e->addr, now);
	case EVENT_NEIGH_HEARD:
		return neigh_learn(g.neigh, e->port, &e->addr, &e->mac, e->for_us, now);
	case EVENT_ND_SOLICITED:
		return neigh_hear(g.neigh, e->port, &e->addr, &e->mac, e->for_us, now);
	case EVENT_ND_ADVERTISED:
		return neigh_advertised(g.neigh, e->port, &e->addr, advert, now);
	case EVENT_DAD_HEARD:
		return dad_heard(g.dad, e->port, &e->addr, now);
	case EVENT_MLD_QUERY:
		return groups_asked(&g, e, now);
	case EVENT_PMTU:
		return path_mtu_learn(&g, e, now);
	case EVENT_PEER_HEARD:
		return peer_heard(&g, e, now);
	default:
		return;
	}
}

void control_thread_tick(uint64_t now)
{
	neigh_tick(g.neigh, now);
	dad_tick(g.dad, now);
	listener_tick(g.listener, now);
	path_mtu_tick(&g, now);
	peer_tick(&g, now);
}

void control_thread_stop(void)
{
	listener_leave(g.listener);
	listener_free(g.listener);
	path_mtus_fini(&g.path_mtus);
}
