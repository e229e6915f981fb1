// SPDX-License-Identifier: BSD-3-Clause
#include "groups.h"

#include <assert.h>
#include <errno.h>

#include "control.h"
#include "nd.h"

static_assert(PORT_GROUPS_MAX <= LISTENER_GROUPS_MAX, "room for all");

// The link-local address to speak from, or none (RFC 3810 5.2.13).
static struct ip_addr source_of(const struct gateway *g, uint16_t port)
{
	const struct snapshot_port *s = &g->snapshot->port[port];

	for (unsigned int i = 0; i < s->n_addrs; i++)
		if (ip_addr_is_link_local(&s->addrs[i]) &&
			dad_state(g->dad, port, &s->addrs[i]) == DAD_ASSIGNED)
			return s->addrs[i];
	return (struct ip_addr){0};
}

// Sends the len octets of a packet that stand in m.
static void send_packet(struct gateway *g, uint16_t port, struct rte_mbuf *m, uint16_t len)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)rte_pktmbuf_append(m, len);
	struct ip_addr to = ipv6_dst(ip);
	struct rte_ether_addr mac = nd_group_mac(&to);

	control_send_packet(g, m, port, &mac);
}

// What is lost here is told again, or asked for again.
static void report(void *arg, uint16_t port, bool v1, enum mld_record record,
	const struct ip_addr group[], unsigned int n)
{
	struct gateway *g = arg;
	struct ip_addr source = source_of(g, port);

	for (unsigned int i = 0; i < (v1 ? n : 1); i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool);
		uint8_t *to = m != NULL ? rte_pktmbuf_mtod(m, uint8_t *) : NULL;

		if (to != NULL)
			send_packet(g, port, m,
				v1 ? mld_v1_build(to, &source, record, &group[i])
				   : mld_report_build(to, &source, record, group, n));
	}
}

int groups_init(struct gateway *g)
{
	g->listener = listener_new(
		&(struct listener_params){.n_ports = g->conf->n_ports, .report = report, .arg = g});
	return g->listener != NULL ? 0 : -ENOMEM;
}

// In which a router's addresses are asked for, and all routers; returns how many.
static unsigned int groups_of(struct ip_addr group[PORT_GROUPS_MAX], const struct snapshot_port *s)
{
	static const struct ip_addr all_routers = {.b = {0xff, 2, [15] = 2}};
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n_addrs; i++)
		if (!ip_addr_is_v4(&s->addrs[i]))
			group[n++] = nd_solicited_node(&s->addrs[i]);
	for (unsigned int i = 0; i < s->n_anycast; i++)
		group[n++] = nd_solicited_node(&s->anycast[i]);
	if (n > 0)
		group[n++] = all_routers;
	return n;
}

void groups_start(struct gateway *g, uint16_t port, const struct snapshot_port *s)
{
	static const struct ip_addr all_nodes = {.b = {0xff, 2, [15] = 1}};
	struct ip_addr group[PORT_GROUPS_MAX];
	unsigned int n = groups_of(group, s);

	if (n == 0)
		return;
	for (unsigned int i = 0; i < n; i++)
		listener_add(g->listener, port, &group[i]);
	listener_tell(g->listener, port);
	group[n++] = all_nodes;
	port_listen(&g->ports[port], group, n);
}

void groups_addr_assigned(struct gateway *g, uint16_t port, const struct ip_addr *addr)
{
	struct ip_addr source = source_of(g, port);

	if (ip_addr_equal(&source, addr))
		listener_tell(g->listener, port);
}

void groups_asked(struct gateway *g, const struct event *e, uint64_t now_ms)
{
	const struct mld_query q = {.group = e->addr,
		.delay_ms = e->delay_ms,
		.interval_s = e->interval_s,
		.v1 = e->v1};

	listener_query(g->listener, e->port, &q, now_ms);
}
