// SPDX-License-Identifier: BSD-3-Clause
#include "policy.h"

#include "ipv4.h"

// The packet as policies see it: local is what lies behind this gateway.
static struct spd_key key_of(const struct pkt *p, bool inbound)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	rte_be16_t src = 0, dst = 0;
	bool ports = ipv4_ports(ip, &src, &dst);
	rte_be32_t src_port =
		ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(src)) : RTE_BE32(ACL_PORT_OPAQUE);
	rte_be32_t dst_port =
		ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(dst)) : RTE_BE32(ACL_PORT_OPAQUE);

	return (struct spd_key){
		.proto = ip->next_proto_id,
		.local = inbound ? ip->dst_addr : ip->src_addr,
		.remote = inbound ? ip->src_addr : ip->dst_addr,
		.local_port = inbound ? dst_port : src_port,
		.remote_port = inbound ? src_port : dst_port,
	};
}

static const struct spd_policy *look_up(struct worker *w, const struct pkt *p, bool inbound)
{
	const struct spd_key key = key_of(p, inbound);
	const struct spd_key *keys[] = {&key};
	const struct spd_policy *found[1];

	spd_lookup(w->snapshot->spd, keys, found, 1);
	if (found[0] != NULL)
		w->snapshot->policy_packets[w->id][policy_index(w, found[0])]++;
	return found[0];
}

// RFC 4301 5.2, step 4: a packet out of an SA has to be one that policy sends through that SA.
static enum drop from_tunnel(struct pkt *p, const struct spd_policy *policy)
{
	if (policy == NULL || policy->action != SPD_PROTECT || policy->in != p->sa_in)
		return DROP_SELECTOR;
	if (!ipv4_is_host_address(pkt_ip(p)->src_addr))
		return DROP_IP_SOURCE;
	p->in_by = policy;
	return DROP_NONE;
}

// Whether the source is at home on the protected side: nothing outside can have it.
static bool source_is_inside(const struct worker *w, const struct pkt *p)
{
	const struct nexthop *back = route_find_v4(w->snapshot->routes, pkt_ip(p)->src_addr);

	return back != NULL && back->kind != NEXTHOP_NOT_UNICAST &&
	       !w->snapshot->port[back->port].unprotected;
}

// RFC 4301 5.2, step 3b: a packet in clear has to be one that policy lets bypass.
static enum drop from_outside(
	const struct worker *w, const struct pkt *p, const struct spd_policy *policy)
{
	if (policy != NULL && policy->action == SPD_PROTECT)
		return DROP_CLEAR_TEXT;
	if (source_is_inside(w, p))
		return DROP_IP_SOURCE;
	// The gateway's outside may be pinged, traced and told of errors without a policy.
	if (pkt_is_local(p) && w->snapshot->port[p->nexthop->port].unprotected)
		return DROP_NONE;
	if (policy == NULL)
		return DROP_NO_POLICY;
	return policy->action == SPD_DISCARD ? DROP_POLICY_DISCARD : DROP_NONE;
}

enum drop policy_let_in(struct worker *w, struct pkt *p)
{
	const struct spd_policy *policy = look_up(w, p, true);

	return p->sa_in != NULL ? from_tunnel(p, policy) : from_outside(w, p, policy);
}

enum drop policy_let_out(struct worker *w, struct pkt *p)
{
	p->out_by = look_up(w, p, false);
	if (p->out_by == NULL)
		return DROP_NO_POLICY;
	if (p->out_by->action == SPD_DISCARD)
		return DROP_POLICY_DISCARD;
	p->sa_out = p->out_by->out; // NULL for bypass
	return DROP_NONE;
}
