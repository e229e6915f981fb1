// SPDX-License-Identifier: BSD-3-Clause
#include "policy.h"

#include "ipv4.h"

// The packet as policies see it: local is what lies behind this gateway.
static void key_of(struct spd_key *key, const struct pkt *p, bool inbound)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	rte_be16_t src = 0, dst = 0;
	bool ports = ipv4_ports(ip, &src, &dst);
	rte_be32_t src_port =
		ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(src)) : RTE_BE32(ACL_PORT_OPAQUE);
	rte_be32_t dst_port =
		ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(dst)) : RTE_BE32(ACL_PORT_OPAQUE);

	*key = (struct spd_key){
		.proto = ip->next_proto_id,
		.local = inbound ? ip->dst_addr : ip->src_addr,
		.remote = inbound ? ip->src_addr : ip->dst_addr,
		.local_port = inbound ? dst_port : src_port,
		.remote_port = inbound ? src_port : dst_port,
	};
}

static void look_up(struct worker *w, struct burst *b, bool inbound)
{
	struct spd_key keys[BURST_MAX];
	const struct spd_key *key[BURST_MAX];
	const struct spd_policy *found[BURST_MAX];

	for (uint16_t i = 0; i < b->n; i++) {
		key_of(&keys[i], &b->p[i], inbound);
		key[i] = &keys[i];
	}
	spd_lookup(w->snapshot->spd, key, found, b->n);
	for (uint16_t i = 0; i < b->n; i++) {
		b->p[i].policy = found[i];
		if (found[i] != NULL)
			w->snapshot
				->policy_packets[w->id][found[i] - spd_at(w->snapshot->spd, 0)]++;
	}
}

static bool is_local(const struct pkt *p)
{
	return p->nexthop != NULL && p->nexthop->kind == NEXTHOP_LOCAL;
}

// RFC 4301 5.2, step 4: a packet out of an SA has to be one that policy sends through that SA.
static enum drop from_tunnel(struct worker *w, struct pkt *p)
{
	if (p->policy == NULL || p->policy->action != SPD_PROTECT || p->policy->in != p->sa_in)
		return DROP_SELECTOR;
	if (!ipv4_is_host_address(pkt_ip(p)->src_addr))
		return DROP_IP_SOURCE;
	if (p->nexthop != NULL && p->nexthop->kind == NEXTHOP_NOT_UNICAST)
		return DROP_NOT_UNICAST;
	p->in_by = p->policy;
	if (is_local(p)) {
		burst_add(&w->local, p);
		return DROP_NONE;
	}
	// What leaves by an unprotected port again crosses the boundary once more: from one branch
	// to another, through this gateway.
	if (p->nexthop == NULL || w->snapshot->port[p->nexthop->port].unprotected)
		burst_add(&w->outbound, p);
	else
		burst_add(&w->forward, p);
	return DROP_NONE;
}

// RFC 4301 5.2, step 3b: a packet in clear has to be one that policy lets bypass.
static enum drop from_outside(struct worker *w, struct pkt *p)
{
	if (p->policy != NULL && p->policy->action == SPD_PROTECT)
		return DROP_CLEAR_TEXT;
	// The gateway itself may be pinged, traced and told of errors from outside.
	if (is_local(p)) {
		burst_add(&w->local, p);
		return DROP_NONE;
	}
	if (p->policy == NULL)
		return DROP_NO_POLICY;
	if (p->policy->action == SPD_DISCARD)
		return DROP_POLICY_DISCARD;
	burst_add(&w->forward, p);
	return DROP_NONE;
}

static enum drop let_in(struct worker *w, struct pkt *p)
{
	return p->sa_in != NULL ? from_tunnel(w, p) : from_outside(w, p);
}

static enum drop let_out(struct worker *w, struct pkt *p)
{
	if (p->policy == NULL)
		return DROP_NO_POLICY;
	switch (p->policy->action) {
	case SPD_PROTECT:
		p->sa_out = p->policy->out;
		burst_add(&w->protect, p);
		break;
	case SPD_BYPASS:
		burst_add(&w->forward, p);
		break;
	case SPD_DISCARD:
		return DROP_POLICY_DISCARD;
	}
	return DROP_NONE;
}

void policy_inbound(struct worker *w)
{
	look_up(w, &w->inbound, true);
	burst_apply(w, &w->inbound, let_in);
	w->inbound.n = 0;
}

void policy_outbound(struct worker *w)
{
	look_up(w, &w->outbound, false);
	burst_apply(w, &w->outbound, let_out);
	w->outbound.n = 0;
}
