// SPDX-License-Identifier: BSD-3-Clause
#include "host.h"

#include "firewall.h"
#include "icmp.h"
#include "nd.h"
#include "pkt_drop.h"
#include "pmtu.h"
#include "policy.h"
#include "policy_find.h"
#include "tracepoint.h"

#define IGMP_QUERY 0x11 // RFC 3376 4
#define MLD_QUERY  130  // RFC 3810 5

// The place of the own end's port and protocol among the buckets of a class.
static unsigned int service_of(const struct pkt *p)
{
	rte_be16_t port = 0;

	if (ip_proto_has_ports(p->ip.proto))
		port = p->from_host ? p->ip.src_port : p->ip.dst_port;
	return ((uint32_t)p->ip.proto << 16 | rte_be_to_cpu_16(port)) * 0x9e3779b1u >> 28;
}

static_assert(HOST_SERVICES == 1 << (32 - 28), "services are the upper bits of the product");

static struct rate_bucket *bucket_of(struct worker *w, const struct pkt *p, enum host_class class)
{
	return p->sa_in != NULL ? &p->sa_in->sa.counters[w->id].host[class]
				: &w->host[p->port][class][service_of(p)];
}

static bool has_token(struct worker *w, const struct pkt *p, enum host_class class)
{
	uint32_t rate = atomic_load_explicit(&w->host_per_second, memory_order_relaxed);

	return worker_has_token(w, bucket_of(w, p, class), rate);
}

bool host_take_token(struct worker *w, const struct pkt *p, enum host_class class)
{
	if (!has_token(w, p, class))
		return false;
	bucket_of(w, p, class)->tokens -= w->tsc_hz;
	return true;
}

bool host_is_own(const struct worker *w, const struct pkt *p, const struct ip_addr *addr)
{
	const struct nexthop *own;

	if (ip_addr_is_link_local(addr))
		return snapshot_port_has(&w->snapshot->port[p->port], addr);
	own = route_find(w->snapshot->routes, addr);
	return own != NULL && own->kind == NEXTHOP_LOCAL && ip_addr_equal(&own->source, addr);
}

// --- to the host ---

bool host_is_forged(const struct worker *w, const struct pkt *p)
{
	const struct nexthop *via = &w->snapshot->ike_via[p->ip.v4 ? SOURCE_V4 : SOURCE_V6];
	const struct ip_addr src = pkt_src(p);

	if (w->from_host == NULL || p->from_host || p->sa_in != NULL)
		return false;
	return host_is_own(w, p, &src) && (ip_addr_is_none(&via->gateway) || via->port != p->port);
}

static bool is_open(const struct flow *f)
{
	return f != NULL && flow_state_info[flow_word_state(flow_word(f))].class != FLOW_CLASS_NEW;
}

// Chooses the host behind the ingress port, or behind that of the address. False: there is none.
static bool find_port(const struct worker *w, const struct pkt *p, uint16_t *port)
{
	*port = host_is_behind(w, p->port) ? p->port : p->nexthop->port;
	return host_is_behind(w, *port);
}

// Whether the gateway itself processes the packet, whatever the rules say: pings, replies to its
// own, and everything for an address that it may not use yet.
static bool is_gateways(const struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct flow *f)
{
	const struct ip_addr dst = pkt_dst(p);

	return icmp_echo_is_request(pkt_ip(p), &p->ip) ||
	       (f == NULL && (fp->icmp_reply || fp->icmp_error)) || !dad_may_use(w->dad, &dst);
}

// Whether a rule is about the packet, whose policies are still to be checked: by now, w->by is
// about another packet.
static bool has_rule(struct worker *w, struct pkt *p, enum rule_state state)
{
	struct policies found;

	w->by.all = 0;
	if (p->sa_in != NULL) {
		policy_find(w, &p, 1, &found);
		p->in_by = found.in != NULL ? found.in->number : 0;
	}
	return firewall_has_rule(w, p, state);
}

// Whether the packet answers the host, is an error about what it sent, or a rule is about it.
static bool is_admitted(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct flow *f)
{
	if (f == NULL || flow_reopens(f, fp))
		return has_rule(w, p, RULE_NEW);
	if (fp->icmp_error || host_began(f, fp))
		return true;
	return has_rule(w, p, flow_ct(f, fp) == FLOW_CT_NEW ? RULE_NEW : RULE_ESTABLISHED);
}

enum drop host_admit(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct flow *f)
{
	const struct nexthop *own = p->nexthop;
	uint16_t port;

	if (!find_port(w, p, &port))
		return DROP_NONE;
	if (f == NULL)
		f = flow_find(w->flows, fp);
	if (is_gateways(w, p, fp, f))
		return DROP_NONE;
	// Before rules and policies are looked up, which costs more: a flood has to stay cheap.
	if (!has_token(w, p, is_open(f) ? HOST_OPEN : HOST_NEW))
		return DROP_HOST_LIMIT;
	p->nexthop = &w->snapshot->port[port].host;
	if (!is_admitted(w, p, fp, f))
		p->nexthop = own;
	else if (fp->icmp_error && pmtu_quotes_sa(w, p)) // or about IKE: it need not show
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
	return nh != NULL && nh->kind == NEXTHOP_NOT_UNICAST && nh->port == port &&
	       !ip_addr_is_none(&nh->source);
}

static struct rte_ether_hdr frame_head(const struct worker *w, const struct pkt *p, uint16_t port)
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
	return head;
}

// Large buffers are the worker's: a chain of ordinary ones takes their place.
static enum drop leave_large(struct worker *w, struct pkt *p)
{
	struct rte_mbuf *m = p->m;

	if (likely(m->pool == w->pool))
		return DROP_NONE;
	p->m = rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
	if (p->m == NULL) {
		p->m = m;
		return DROP_NO_BUFFER;
	}
	worker_release(w, m);
	return DROP_NONE;
}

static enum drop punt(struct worker *w, struct pkt *p, uint16_t port, enum host_class class)
{
	const struct rte_ether_hdr head = frame_head(w, p, port);
	enum drop d;

	if (!host_take_token(w, p, class))
		return DROP_HOST_LIMIT;
	d = leave_large(w, p);
	if (d != DROP_NONE)
		return d;
	trace_note(w, p, TRACE_PUNTED, (struct trace_fact){.port = port + 1});
	// There is headroom, as in output.c.
	memcpy(rte_pktmbuf_prepend(p->m, sizeof(head)), &head, sizeof(head));
	p->framed = false;
	if (rte_ring_enqueue(w->to_host[port], p->m) < 0)
		return DROP_RING_FULL;
	w->punted = true;
	return DROP_NONE;
}

void host_punt(struct worker *w, struct pkt *p, uint16_t port, enum host_class class)
{
	enum drop d = punt(w, p, port, class);

	if (d != DROP_NONE)
		pkt_drop(w, p, d);
}

void host_punt_flow(struct worker *w, struct pkt *p, const struct flow *f)
{
	host_punt(w, p, p->nexthop->port, is_open(f) ? HOST_OPEN : HOST_NEW);
}

static bool is_group_query(const struct pkt *p)
{
	return p->ip.v4 ? p->ip.proto == IPPROTO_IGMP && p->ip.l4[0] == IGMP_QUERY
			: p->ip.proto == IPPROTO_ICMPV6 && p->ip.icmp_type == MLD_QUERY;
}

static enum drop group_admit(struct worker *w, struct pkt *p)
{
	struct policies found;
	enum drop d = DROP_NONE;

	if (!has_token(w, p, HOST_NEW))
		return DROP_HOST_LIMIT;
	if (!has_rule(w, p, RULE_NEW))
		return DROP_NOT_UNICAST;
	policy_find(w, &p, 1, &found);
	if (policy_is_inbound(w, p))
		d = policy_check_inbound(w, p, found.in);
	return d == DROP_NONE ? firewall_check(w, p, &(struct flow_pkt){0}, RULE_NEW) : d;
}

enum drop host_input_group(struct worker *w, struct pkt *p)
{
	struct rte_ether_addr mac;
	struct ip_addr dst;
	enum drop d;

	if (!ip_layout_read(&p->ip, pkt_ip(p)))
		return DROP_EXT_HEADERS;
	dst = pkt_dst(p);
	if (!host_is_group(w, p->port, &dst, &mac))
		return DROP_NOT_UNICAST;
	if (host_is_forged(w, p))
		return DROP_IP_SOURCE;
	p->nexthop = &w->snapshot->port[p->port].host;
	d = is_group_query(p) ? DROP_NONE : group_admit(w, p);
	return d == DROP_NONE ? punt(w, p, p->port, HOST_NEW) : d;
}

void host_wake(struct worker *w)
{
	w->punted = false;
	w->host_wake(w->host_wake_arg);
}
