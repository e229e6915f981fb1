// SPDX-License-Identifier: BSD-3-Clause
#include "policy.h"

#include "ip_view.h"
#include "ipv4.h"
#include "ipv6.h"

static const struct spd_policy *count(struct worker *w, const struct spd_policy *policy)
{
	if (policy != NULL)
		w->snapshot->policy_packets[w->id][policy_index(w, policy)]++;
	return policy;
}

static bool is_host(const struct ip_addr *a)
{
	return ip_addr_is_v4(a) ? ipv4_is_host_address(ip_addr_v4(a)) : ipv6_is_host_address(a->b);
}

// RFC 4301 5.2, step 4: a packet out of an SA has to be one that policy sends through that SA.
static enum drop from_tunnel(
	struct pkt *p, const struct ip_addr *src, const struct spd_policy *policy)
{
	if (policy == NULL || policy->action != SPD_PROTECT || policy->in != p->sa_in)
		return DROP_SELECTOR;
	if (!is_host(src))
		return DROP_IP_SOURCE;
	p->in_by = policy;
	return DROP_NONE;
}

// Whether the source is at home on the protected side: nothing outside can have it.
static bool is_inside(const struct worker *w, const struct ip_addr *src)
{
	const struct nexthop *back = route_find(w->snapshot->routes, src);

	return back != NULL && back->kind != NEXTHOP_NOT_UNICAST &&
	       !w->snapshot->port[back->port].unprotected;
}

// RFC 4301 5.2, step 3b: a packet in clear has to be one that policy lets bypass.
static enum drop from_outside(const struct worker *w, const struct pkt *p,
	const struct ip_addr *src, const struct spd_policy *policy)
{
	if (policy != NULL && policy->action == SPD_PROTECT)
		return DROP_CLEAR_TEXT;
	if (is_inside(w, src))
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
	const struct spd_policy *policy;
	struct ip_view v;

	ip_view_read(&v, pkt_ip(p));
	policy = count(w, spd_find_inbound(w->snapshot->spd, &v));
	return p->sa_in != NULL ? from_tunnel(p, &v.src, policy)
				: from_outside(w, p, &v.src, policy);
}

enum drop policy_let_out(struct worker *w, struct pkt *p)
{
	struct ip_view v;

	ip_view_read(&v, pkt_ip(p));
	p->out_by = count(w, spd_find_outbound(w->snapshot->spd, &v));
	if (p->out_by == NULL)
		return DROP_NO_POLICY;
	if (p->out_by->action == SPD_DISCARD)
		return DROP_POLICY_DISCARD;
	p->sa_out = p->out_by->out; // NULL for bypass
	return DROP_NONE;
}
