// SPDX-License-Identifier: BSD-3-Clause
#include "policy.h"

#include "decided_run.h"
#include "forward.h"
#include "hop.h"
#include "hop_group.h"
#include "icmp.h"
#include "ip_view.h"
#include "ipv4.h"
#include "ipv6.h"
#include "natt.h"
#include "policy_find.h"
#include "tracepoint.h"
#include "translate.h"

#define ASK_AGAIN_MS 100 // for an SA of the same policy: others have their share of events

// Counts a lookup of the policy and sets *by to its number for flows.
static const struct spd_policy *policy_count(
	struct worker *w, const struct pkt *p, const struct spd_policy *policy, uint16_t *by)
{
	struct decided *decided;

	if (unlikely(w->tracing != NULL))
		trace_policy(w, p, policy);
	if (policy == NULL)
		return NULL;
	decided = decided_of_policy(w, policy->number);
	decided->asked++;
	decided_add(decided, 1, rte_pktmbuf_pkt_len(p->m));
	*by = policy->number;
	return policy;
}

static bool is_host(const struct ip_addr *a)
{
	return ip_addr_is_v4(a) ? ipv4_is_host_address(ip_addr_v4(a)) : ipv6_is_host_address(a);
}

static bool is_protect(const struct spd_policy *policy)
{
	return policy != NULL && policy->action == SPD_PROTECT;
}

// Whether the next hop, or all of several, are on the protected side. A route that drops counts as
// protected: it may be for a part of a network there, and no host outside gets replies from there.
static bool is_protected(const struct worker *w, const struct nexthop *nh)
{
	return !nexthop_leads_on(nh) || hop_is_protected(w->snapshot, nh);
}

// Whether the policy is more specific than the route in that the source is at the peer.
static bool is_at_peer(
	const struct spd_policy *policy, const struct ip_addr *src, const struct nexthop *back)
{
	const struct ip_prefix *remote = spd_policy_remote_of(policy, src);

	return remote != NULL && remote->len > route_of(back)->to.len;
}

// Whether no host behind the peer of a policy can have the source: it is an own address, or the
// route to it leads into a tunnel, or to a protected port or nowhere and is at least as specific as
// the policy.
static bool is_inside_source(const struct worker *w, const struct ip_addr *src,
	const struct nexthop *back, const struct spd_policy *policy)
{
	if (back == NULL || back->kind == NEXTHOP_NOT_UNICAST)
		return false;
	if (back->kind == NEXTHOP_LOCAL || nexthop_first_kind(back) == NEXTHOP_TUNNEL)
		return true;
	return is_protected(w, back) && !is_at_peer(policy, src, back);
}

static bool is_routed_back(const struct nexthop *back, const struct spd_policy *tunnel)
{
	switch (tunnel->source_check) {
	case SPD_SOURCE_STRICT:
		return back != NULL && nexthop_leads_into(back, tunnel->iface);
	case SPD_SOURCE_LOOSE:
		return back != NULL && back->kind <= NEXTHOP_TUNNEL;
	default:
		return true;
	}
}

// A link-local source is at the other end of the tunnel, if the packet is for this end: for an
// address of the tunnel, or its host.
static bool is_at_other_end(const struct worker *w, const struct pkt *p, const struct ip_addr *src,
	const struct spd_policy *tunnel)
{
	const uint16_t to = p->nexthop != NULL ? p->nexthop->iface : 0;
	const struct nexthop *only = w->snapshot->iface[to].only;

	return ip_addr_is_link_local(src) &&
	       (to == tunnel->iface || (only != NULL && only->iface == tunnel->iface));
}

// A packet out of a tunnel that routes lead into: how its source is checked is the tunnel's
// setting. Of an error back is the route to the destination of the packet that it is about, since
// any router on the path sends it.
static enum drop check_by_route(const struct worker *w, struct pkt *p, const struct nexthop *back,
	const struct spd_policy *tunnel)
{
	const struct ip_addr src = pkt_src(p);

	if (!is_host(&src))
		return DROP_IP_SOURCE;
	if (!is_at_other_end(w, p, &src, tunnel) && !is_routed_back(back, tunnel))
		return DROP_TUNNEL_SOURCE;
	p->in_by = tunnel->number;
	return DROP_NONE;
}

// RFC 4301 5.2, step 4: a packet from an SA must match a policy that sends through that SA.
static enum drop check_from_tunnel(const struct worker *w, struct pkt *p,
	const struct nexthop *back, const struct spd_policy *policy)
{
	const struct ip_addr src = pkt_src(p);

	if (!is_protect(policy) || !spd_receives(policy, p->sa_in))
		return DROP_SELECTOR;
	if (unlikely(spd_policy_is_routed(policy)))
		return check_by_route(w, p, back, policy);
	if (!is_host(&src) || is_inside_source(w, &src, back, policy))
		return DROP_IP_SOURCE;
	p->in_by = policy->number;
	return DROP_NONE;
}

// Whether the route leads to the protected side, so that no host outside can have the address.
static bool is_inside(const struct worker *w, const struct nexthop *back)
{
	return back != NULL && back->kind != NEXTHOP_NOT_UNICAST && is_protected(w, back);
}

// Outside addresses of the gateway accept pings, traces and errors without a policy.
static bool is_exempt_outside(const struct worker *w, const struct pkt *p)
{
	if (!pkt_is_local(p) || !w->snapshot->iface[p->nexthop->iface].unprotected)
		return false;
	return !pkt_is_for_host(p) ||
	       (acl_is_icmp(p->ip.proto) && icmp_is_error(p->ip.icmp_type, p->ip.v4));
}

// RFC 4301 5.2, step 3b: a packet in clear must match a bypass policy.
static enum drop check_from_outside(const struct worker *w, const struct pkt *p,
	const struct nexthop *back, const struct spd_policy *policy)
{
	if (is_inside(w, back))
		return DROP_IP_SOURCE;
	if (is_protect(policy))
		return DROP_CLEAR_TEXT;
	if (is_exempt_outside(w, p))
		return DROP_NONE;
	if (policy == NULL)
		return DROP_NO_POLICY;
	return policy->action == SPD_DISCARD ? DROP_POLICY_DISCARD : DROP_NONE;
}

enum drop policy_check_inbound(struct worker *w, struct pkt *p, const struct policies *found)
{
	policy_count(w, p, found->in, &w->by.in);
	return p->sa_in != NULL ? check_from_tunnel(w, p, found->back, found->in)
				: check_from_outside(w, p, found->back, found->in);
}

enum drop policy_check_fragment(struct worker *w, struct pkt *p)
{
	const struct ip_view v = {.src = pkt_src(p), .dst = pkt_dst(p), .proto = p->ip.proto};
	const struct spd_policy *policy = policy_find_receiver(w->snapshot, p->sa_in, &v);

	if (policy == NULL)
		return DROP_SELECTOR;
	p->in_by = policy->number;
	return DROP_NONE;
}

static bool is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS;
}

// Whether the SA decides about the datagram, which its SPI names: it is ESP for the gateway, or for
// a host with an SA in transport mode.
static bool may_have_sa(const struct worker *w, const struct pkt *p, const struct ip_view *v)
{
	return v->proto == IPPROTO_ESP &&
	       (pkt_is_local(p) || snapshot_has_ends(w->snapshot, &v->dst, &v->src));
}

// Whether more than the addresses decides about the datagram: it is ESP for an SA, an ICMP error,
// or of an IPv6 protocol that the fragment does not show.
static bool is_exempt(const struct worker *w, const struct pkt *p, const struct ip_view *v)
{
	const struct snapshot *s = w->snapshot;

	if (acl_is_icmp(v->proto) || may_have_sa(w, p, v))
		return true;
	if (!p->ip.v4 && is_extension(v->proto))
		return true;
	return v->proto == IPPROTO_UDP && s->udp_ports != NULL && snapshot_has_udp_end(s, &v->dst);
}

static enum drop check_fragment_out(const struct pkt *p, const struct spd_policy *policy)
{
	if (pkt_is_local(p))
		return DROP_NONE;
	if (policy == NULL)
		return DROP_NO_POLICY;
	return policy->action == SPD_DISCARD ? DROP_POLICY_DISCARD : DROP_NONE;
}

enum drop policy_check_clear_fragment(struct worker *w, struct pkt *p)
{
	bool inbound = pkt_iface(w, p)->unprotected;
	const struct spd_policy *policy;
	const struct ip_view v = pkt_view(p);
	struct route_ends ends;
	enum drop d;

	if (pkt_iface(w, p)->is_host)
		return DROP_NONE;
	if (!inbound && flow_table_translates(w->flows)) // the datagram may have other ends
		return DROP_NONE;
	ends = forward_ends(w, p);
	if (flow_table_translates(w->flows))
		return is_inside(w, ends.back) ? DROP_IP_SOURCE : DROP_NONE;
	d = forward_by(w, p, &ends, NULL);
	if (d != DROP_NONE)
		return d;
	if (inbound && is_inside(w, ends.back))
		return DROP_IP_SOURCE;
	if (is_exempt(w, p, &v) || (!inbound && pkt_goes_into_tunnel(p)) ||
		!policy_decides_fragment(w->snapshot, &v, inbound, &policy))
		return DROP_NONE;
	return inbound ? check_from_outside(w, p, ends.back, policy)
		       : check_fragment_out(p, policy);
}

static void ask_for_sa(struct worker *w, const struct pkt *p, const struct spd_policy *policy)
{
	struct decided *decided = decided_of_policy(w, policy->number);
	const struct ip_view wire = translate_view_wire(w, p); // as the policy has it

	if (!worker_is_due(w, &decided->next, ASK_AGAIN_MS))
		return;

	struct event e = worker_event_about(w, p, &wire, EVENT_SA_NEEDED);

	e.policy = policy->number;
	e.generation = w->snapshot->flow_generation;
	worker_event_post_share(w, &e, SHARE_ACQUIRE);
}

enum drop policy_protect(struct worker *w, struct pkt *p, const struct spd_policy *policy)
{
	p->sa_out = policy->out;
	if (likely(p->sa_out != NULL))
		return DROP_NONE;
	ask_for_sa(w, p, policy);
	return DROP_ACQUIRE;
}

// The packet is to be protected by the SA of a tunnel that routes lead into. The control thread
// finds a moment later that the SA is stopped, or its peer not known.
static enum drop protect_by_route(struct worker *w, struct pkt *p, const struct spd_policy *tunnel)
{
	struct sa_out *sa = objects_out(w->snapshot->objects, tunnel->number);
	bool standby = tunnel->out == NULL && objects_are_standby(w->snapshot->objects);

	if (unlikely(natt_is_outer(w, p, tunnel->out)))
		return DROP_HOST_OUTER;
	if (tunnel->out == NULL && !standby)
		ask_for_sa(w, p, tunnel);
	if (sa == NULL || sa_out_path(sa)->nexthop == NULL || sa_has_ended(&sa->sa))
		return standby ? DROP_STANDBY : DROP_TUNNEL_DOWN;
	p->sa_out = sa;
	return DROP_NONE;
}

static enum drop apply_outbound(struct worker *w, struct pkt *p, const struct spd_policy *policy)
{
	if (policy == NULL)
		return DROP_NO_POLICY;
	if (unlikely(spd_policy_is_routed(policy)))
		return protect_by_route(w, p, policy);
	if (policy->action == SPD_DISCARD)
		return DROP_POLICY_DISCARD;
	return policy->action == SPD_PROTECT ? policy_protect(w, p, policy) : DROP_NONE;
}

enum drop policy_check_outbound(struct worker *w, struct pkt *p, const struct spd_policy *policy)
{
	return apply_outbound(w, p, policy_count(w, p, policy, &w->by.out));
}

// The packet that an error quotes, which was sent in the opposite direction (RFC 4301 6.2).
static struct ip_view quoted(const struct flow_pkt *about)
{
	const struct flow_key *key = &about->key;
	const unsigned int sender = !(about->dir ^ about->reversed);

	return (struct ip_view){
		.src = key->addr[sender],
		.dst = key->addr[!sender],
		.proto = key->proto,
		.has_ports = ip_proto_has_ports(key->proto),
		.src_port = key->port[sender],
		.dst_port = key->port[!sender],
		.has_icmp_type = acl_is_icmp(key->proto),
		.icmp_type = about->icmp_type,
		.icmp_code = key->icmp_code,
	};
}

// Peers without a fixed endpoint differ from each other, unless their SAs are the same.
static bool same_peer(const struct spd_policy *a, const struct spd_policy *b)
{
	bool same_sas = a->group != 0 ? a->group == b->group : a->out == b->out;

	return same_sas || (!ip_addr_is_none(&a->peer) && ip_addr_equal(&a->peer, &b->peer));
}

// Whether an error from an SA of the policy may be about this traffic. Otherwise any peer could
// break the connections of all others (RFC 4301 6.2).
static bool may_report(const struct spd_policy *policy, const struct spd_policy *traffic)
{
	return policy->errors_trusted || (is_protect(traffic) && same_peer(policy, traffic));
}

static enum drop check_error_from_tunnel(const struct worker *w, struct pkt *p,
	const struct nexthop *back, const struct spd_policy *policy,
	const struct spd_policy *traffic)
{
	bool by_itself =
		is_protect(policy) && spd_receives(policy, p->sa_in) && may_report(policy, traffic);

	return check_from_tunnel(w, p, back, by_itself ? policy : traffic);
}

static bool is_accepted_in_clear(const struct worker *w, const struct pkt *p)
{
	unsigned int kind = icmp_kind(p->ip.v4, p->ip.icmp_type, p->ip.icmp_code);

	return (w->snapshot->errors_in_clear >> kind & 1) != 0;
}

// RFC 4301 6.1.1: an error in clear is not authenticated. On the path of a tunnel only ESP is
// visible.
static enum drop check_error_from_outside(const struct worker *w, const struct pkt *p,
	const struct nexthop *back, const struct spd_policy *policy,
	const struct spd_policy *traffic)
{
	if (!is_protect(traffic) || is_protect(policy))
		return check_from_outside(w, p, back, policy);
	if (is_inside(w, back))
		return DROP_IP_SOURCE;
	return is_accepted_in_clear(w, p) ? DROP_NONE : DROP_CLEAR_TEXT;
}

// The policy or tunnel that a packet of the flow is sent by.
static const struct spd_policy *find_sender(const struct worker *w, const struct ip_view *sent)
{
	const struct snapshot *s = w->snapshot;
	const struct nexthop *to = hop_find(s, route_find_from(s->routes, &sent->src, &sent->dst),
		&sent->src, &sent->dst, hop_rest(sent), NULL);

	return to != NULL && to->kind == NEXTHOP_TUNNEL ? snapshot_tunnel(s, to)
							: policy_find_outbound(s, sent);
}

// An ICMP error (RFC 4301 6) about the flow. Any router on the path may be its source: where no
// policy matches its own addresses, that of the flow applies. Errors about the traffic of a tunnel
// are accepted in clear only if the configuration allows it, and never sent in clear.
static enum drop check_error_inbound(
	struct worker *w, struct pkt *p, const struct flow_pkt *about, const struct nexthop *back)
{
	const struct ip_view sent = quoted(about);
	const struct spd_policy *policy, *traffic;
	const struct ip_view v = pkt_view(p);

	policy = policy_find_inbound(w->snapshot, &v);
	traffic = find_sender(w, &sent);
	policy_count(w, p, is_protect(traffic) ? traffic : policy, &w->by.in);
	return p->sa_in != NULL ? check_error_from_tunnel(w, p, back, policy, traffic)
				: check_error_from_outside(w, p, back, policy, traffic);
}

// Without an SA the error asks for one.
static bool is_tunnel(const struct spd_policy *policy)
{
	const struct sa_out *sa = policy->out;

	return sa == NULL || sa->sa.per_packet.mode == SA_TUNNEL;
}

// An SA in transport mode has no room for a packet of a router, and in clear the error would reveal
// content that the SA protects.
static enum drop check_error_outbound(struct worker *w, struct pkt *p, const struct flow_pkt *about)
{
	const struct spd_policy *policy, *traffic;
	const struct ip_view v = translate_view_wire(w, p);
	struct ip_view sent = quoted(about);

	translate_quoted(w, &sent);
	policy = policy_find_outbound(w->snapshot, &v);
	traffic = policy_find_inbound(w->snapshot, &sent);
	if (!is_protect(policy) && is_protect(traffic))
		policy = is_tunnel(traffic) ? traffic : NULL;
	return apply_outbound(w, p, policy_count(w, p, policy, &w->by.out));
}

// An error out of a tunnel that routes lead into, about a packet that was routed there. Any router
// on the path may be its source, but none that is inside.
static enum drop check_error_by_route(
	struct worker *w, struct pkt *p, const struct flow_pkt *about, const struct policies *found)
{
	const struct spd_policy *tunnel = found->in;
	const struct ip_view sent = quoted(about);

	policy_count(w, p, tunnel, &w->by.in);
	if (is_inside(w, found->back) && check_by_route(w, p, found->back, tunnel) != DROP_NONE)
		return DROP_IP_SOURCE;
	return check_by_route(w, p, route_find(w->snapshot->routes, &sent.dst), tunnel);
}

static enum drop apply_inbound(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct policies *found)
{
	if (!fp->icmp_error)
		return policy_check_inbound(w, p, found);
	return spd_policy_is_routed(found->in) ? check_error_by_route(w, p, fp, found)
					       : check_error_inbound(w, p, fp, found->back);
}

enum drop policy_apply(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct policies *found)
{
	enum drop d = DROP_NONE;

	if (policy_is_inbound(w, p))
		d = apply_inbound(w, p, fp, found);
	if (d != DROP_NONE || !policy_is_outbound(w, p))
		return d;
	return fp->icmp_error && !spd_policy_is_routed(found->out)
		       ? check_error_outbound(w, p, fp)
		       : policy_check_outbound(w, p, found->out);
}
