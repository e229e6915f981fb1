// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

#include "buffer.h"
#include "firewall.h"
#include "forward.h"
#include "icmp.h"
#include "input_check.h"
#include "nd.h"
#include "pkt_drop.h"
#include "pmtu.h"
#include "policy.h"
#include "policy_find.h"
#include "segment.h"
#include "tracepoint.h"

#define IGMP_QUERY 0x11 // RFC 3376 4
#define MLD_QUERY  130  // RFC 3810 5

bool host_is_own(const struct worker *w, const struct pkt *p, const struct ip_addr *addr)
{
	const struct nexthop *own;

	if (ip_addr_is_link_local(addr))
		return iface_has(pkt_iface(w, p), addr);
	own = route_find(w->snapshot->routes, addr);
	return own != NULL && own->kind == NEXTHOP_LOCAL && ip_addr_equal(&own->source, addr);
}

bool host_is_link_control(const struct pkt *p)
{
	if (p->ip.v4)
		return p->ip.proto == IPPROTO_ICMP && p->ip.icmp_type == ICMP_REDIRECT;
	return p->ip.proto == IPPROTO_ICMPV6 && p->ip.icmp_type >= ND_ROUTER_SOLICIT &&
	       p->ip.icmp_type <= ND_REDIRECT;
}

// --- to the host ---

// The host of the tunnel with the address, else that behind the ingress port, or behind the port of
// the address. NULL: there is none.
static const struct nexthop *find_host(const struct worker *w, const struct pkt *p)
{
	const uint16_t own = p->nexthop->iface;
	const struct nexthop *host = iface_is_tunnel(own) ? NULL : host_behind(w, pkt_port(w, p));

	return host != NULL ? host : host_behind(w, own);
}

// Whether the gateway itself processes the packet, whatever the rules: pings, replies to its own,
// and everything for an address that it may not use yet.
static bool is_gateways(const struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct flow *f)
{
	const struct ip_addr dst = pkt_dst(p);

	return icmp_echo_is_request(pkt_ip(p), &p->ip) ||
	       (f == NULL && (fp->icmp_reply || fp->icmp_error)) || !dad_may_use(w->dad, &dst);
}

// The number of the rule that decides about a packet for the host, whose policies are still to be
// checked: by now, w->by is about another packet. Then p->nexthop leads to the host. 0: no rule
// does.
static uint32_t find_rule(
	struct worker *w, struct pkt *p, const struct nexthop *host, enum rule_state state)
{
	const struct nexthop *own = p->nexthop;
	struct policies found;
	uint32_t rule;

	w->by.all = 0;
	if (p->sa_in != NULL) {
		policy_find(w, &p, 1, &found);
		p->in_by = found.in != NULL ? found.in->number : 0;
	}
	p->nexthop = host;
	rule = firewall_rule_of(w, p, state);
	if (rule == 0)
		p->nexthop = own;
	return rule;
}

// Whether the packet answers the host, or is an error about a packet that it sent. Otherwise a rule
// has to admit it.
static bool is_answer(const struct flow_pkt *fp, const struct flow *f)
{
	return f != NULL && !flow_reopens(f, fp) && (fp->icmp_error || host_began(f, fp));
}

static enum rule_state state_of(const struct flow_pkt *fp, const struct flow *f)
{
	return f == NULL || flow_reopens(f, fp) || flow_ct(f, fp) == FLOW_CT_NEW ? RULE_NEW
										 : RULE_ESTABLISHED;
}

uint32_t host_rule_new(struct worker *w, struct pkt *p, const struct flow_pkt *fp)
{
	const struct nexthop *host = find_host(w, p);

	return host != NULL && !is_gateways(w, p, fp, NULL) ? find_rule(w, p, host, RULE_NEW) : 0;
}

enum drop host_admit(struct worker *w, struct pkt *p, struct flow_pkt *fp, const struct flow *f)
{
	const struct nexthop *host;
	uint32_t rule = 0;

	if (pkt_iface(w, p)->is_host)
		return DROP_LOCAL_UNSERVED;
	host = find_host(w, p);
	if (host == NULL || host_is_link_control(p))
		return DROP_NONE;
	if (f == NULL)
		f = flow_find(w->flows, fp);
	if (is_gateways(w, p, fp, f))
		return DROP_NONE;
	if (is_answer(fp, f))
		p->nexthop = host;
	else
		rule = find_rule(w, p, host, state_of(fp, f));
	if (!pkt_is_for_host(p))
		return DROP_NONE;
	// Before policies are looked up and a flow is made, which costs more: a flood has to stay
	// cheap.
	if (!host_has_token(w, p, host_limit_of(w, fp, f, rule)))
		return DROP_HOST_LIMIT;
	if (fp->icmp_error && pmtu_quotes_sa(w, p)) // or about IKE: it need not show
		pmtu_learn(w, p);
	return DROP_NONE;
}

bool host_is_group(const struct worker *w, uint16_t port, const struct ip_addr *addr,
	struct rte_ether_addr *mac)
{
	const uint32_t v4 = rte_be_to_cpu_32(ip_addr_v4(addr));
	const struct nexthop *nh;

	if (!ip_addr_is_v4(addr)) {
		*mac = nd_group_mac(addr);
		return addr->b[0] == 0xff;
	}
	if (v4 >> 28 == 0xe) { // RFC 1112 6.4
		*mac = (struct rte_ether_addr){
			{0x01, 0x00, 0x5e, v4 >> 16 & 0x7f, (uint8_t)(v4 >> 8), (uint8_t)v4}};
		return true;
	}
	memset(mac, 0xff, sizeof(*mac));
	if (v4 == UINT32_MAX)
		return true;
	nh = route_find(w->snapshot->routes, addr);
	return nh != NULL && nh->kind == NEXTHOP_NOT_UNICAST && nh->iface == port &&
	       !ip_addr_is_none(&nh->source);
}

// Puts an Ethernet header in front of the packet. There is headroom, as in output.c.
static void prepend_head(const struct worker *w, struct pkt *p, uint16_t port)
{
	const struct rte_ether_hdr *frame = pkt_frame(p);
	const struct ip_addr dst = pkt_dst(p);
	struct rte_ether_hdr head = {
		.ether_type =
			p->ip.v4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4) : RTE_BE16(RTE_ETHER_TYPE_IPV6),
	};

	if (frame != NULL)
		head.src_addr = frame->src_addr;
	if (!host_is_group(w, port, &dst, &head.dst_addr))
		head.dst_addr = w->snapshot->port[port].mac;
	memcpy(rte_pktmbuf_prepend(p->m, sizeof(head)), &head, sizeof(head));
}

// Whether the ring has room. The upper half is for established connections.
static bool has_room(const struct rte_ring *to, enum host_class class)
{
	return class != HOST_NEW || rte_ring_count(to) < rte_ring_get_capacity(to) / 2;
}

static enum drop punt(struct worker *w, struct pkt *p, uint16_t host, struct host_limit limit)
{
	const struct iface *iface = &w->snapshot->iface[host];
	struct rte_ring *to = host_ring(w, host);
	enum drop d;

	if (pkt_is_oversized(p))
		return DROP_FRAME_SCATTERED;
	if (!host_take_token(w, p, limit))
		return DROP_HOST_LIMIT;
	if (!has_room(to, limit.class))
		return DROP_RING_FULL;
	d = p->segments ? segment_keep(w, p) : DROP_NONE;
	if (d == DROP_NONE)
		d = buffer_chain(w, &p->m);
	if (d != DROP_NONE)
		return d;
	trace_note(w, p, TRACE_PUNTED, (struct trace_fact){.port = iface->port + 1});
	if (iface->only == NULL)
		prepend_head(w, p, iface->port);
	p->framed = false;
	p->m->hash.usr = w->snapshot->host_since[host - IFACE_HOST(0)];
	if (rte_ring_enqueue(to, p->m) < 0)
		return DROP_RING_FULL;
	w->punted = true;
	return DROP_NONE;
}

void host_punt(struct worker *w, struct pkt *p, uint16_t host, struct host_limit limit)
{
	enum drop d = punt(w, p, host, limit);

	if (d != DROP_NONE)
		pkt_drop(w, p, d);
}

void host_punt_flow(struct worker *w, struct pkt *p, const struct flow_pkt *fp,
	const struct flow *f, uint32_t rule)
{
	host_punt(w, p, p->nexthop->iface, host_limit_of(w, fp, f, rule));
}

static bool is_group_query(const struct pkt *p)
{
	return p->ip.v4 ? p->ip.proto == IPPROTO_IGMP && p->ip.l4[0] == IGMP_QUERY
			: p->ip.proto == IPPROTO_ICMPV6 && p->ip.icmp_type == MLD_QUERY;
}

static enum drop group_admit(
	struct worker *w, struct pkt *p, const struct nexthop *host, struct host_limit *limit)
{
	const uint32_t rule = find_rule(w, p, host, RULE_NEW);
	const struct flow_pkt none = {0};
	struct policies found;
	enum drop d = DROP_NONE;

	if (rule == 0)
		return DROP_NOT_UNICAST;
	*limit = host_limit_of(w, &none, NULL, rule);
	if (!host_has_token(w, p, *limit))
		return DROP_HOST_LIMIT;
	policy_find(w, &p, 1, &found);
	if (policy_is_inbound(w, p))
		d = policy_check_inbound(w, p, &found);
	return d == DROP_NONE ? firewall_check(w, p, &none, RULE_NEW) : d;
}

// A packet for a group is not reassembled: its fragments do not show of which type they are.
static bool may_be_link_control(const struct pkt *p)
{
	bool is_icmp = p->ip.proto == (p->ip.v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);

	return p->ip.fragment ? is_icmp : host_is_link_control(p);
}

enum drop host_input_group(struct worker *w, struct pkt *p)
{
	struct host_limit limit = {HOST_NEW, HOST_UNASKED};
	struct rte_ether_addr mac;
	struct ip_addr dst;
	enum drop d;

	if (!ip_layout_read(&p->ip, pkt_ip(p)))
		return DROP_EXT_HEADERS;
	d = p->ip.v4 ? input_check_options(pkt_ip(p)) : DROP_NONE;
	if (d != DROP_NONE)
		return d;
	dst = pkt_dst(p);
	if (!host_is_group(w, pkt_port(w, p), &dst, &mac) || may_be_link_control(p))
		return DROP_NOT_UNICAST;
	d = forward_check_source(w, p);
	if (d != DROP_NONE)
		return d;
	p->nexthop = pkt_iface(w, p)->host;
	d = is_group_query(p) || host_client_is_answer(w, p)
		    ? DROP_NONE
		    : group_admit(w, p, p->nexthop, &limit);
	return d == DROP_NONE ? punt(w, p, pkt_iface(w, p)->host->iface, limit) : d;
}

// Whether no router may have forwarded it, as of routing protocols.
static bool is_for_link_group(const struct pkt *p)
{
	const struct ip_addr dst = pkt_dst(p);

	return p->ip.v4 ? rte_be_to_cpu_32(ip_addr_v4(&dst)) >> 8 == 0xe00000 &&
				  pkt_ip(p)->time_to_live == 1
			: dst.b[0] == 0xff && (dst.b[1] & 0xf) == 2 && pkt_ip6(p)->hop_limits == 1;
}

enum drop host_input_inside(struct worker *w, struct pkt *p)
{
	const struct spd_policy *tunnel = spd_find_tunnel(w->snapshot->spd, p->sa_in);
	const struct nexthop *host = tunnel != NULL ? host_behind(w, tunnel->iface) : NULL;
	struct host_limit limit;
	enum drop d;

	if (host == NULL || !is_for_link_group(p) || host_is_link_control(p))
		return DROP_NOT_UNICAST;
	d = forward_check_source(w, p);
	if (d == DROP_NONE)
		d = group_admit(w, p, host, &limit);
	return d == DROP_NONE ? punt(w, p, host->iface, limit) : d;
}

void host_wake(struct worker *w)
{
	w->punted = false;
	w->host_wake(w->host_wake_arg);
}
