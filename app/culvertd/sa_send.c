// SPDX-License-Identifier: BSD-3-Clause
#include "sa_send.h"

#include "control.h"

bool sa_send_ready(
	struct gateway *g, const struct sa_out *sa, struct rte_ether_addr *mac, uint64_t now_ms)
{
	static struct neigh_hints hints;
	const struct nexthop *nh = sa_out_path(sa)->nexthop;
	const struct ip_addr *next = nh->kind == NEXTHOP_GATEWAY ? &nh->gateway : &sa->peer.addr;
	uint32_t sought = neigh_seek(g->neigh, &hints, nh->port, next);

	if (neigh_ask(g->neigh, &hints, sought, nh->port, next, mac) == NEIGH_KNOWN)
		return true;
	neigh_resolve(g->neigh, nh->port, next, now_ms);
	return false;
}

void sa_send(struct gateway *g, const struct sa_out *sa, struct rte_mbuf *m,
	const struct rte_ether_addr *mac)
{
	control_send_packet(g, m, sa_out_path(sa)->nexthop->port, mac);
}
