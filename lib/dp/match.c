// SPDX-License-Identifier: BSD-3-Clause
#include "match.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_tcp.h>
#include <rte_udp.h>

#include "firewall.h"
#include "forward.h"
#include "hop.h"
#include "host.h"
#include "icmp.h"
#include "ip_view.h"
#include "ipv4.h"
#include "line_memory.h"
#include "local.h"
#include "natt.h"
#include "policy.h"
#include "policy_find.h"
#include "translate.h"

#define L4_LEN  20 // octets, enough for every protocol
#define PKT_MAX (sizeof(struct rte_ipv6_hdr) + L4_LEN)

// A private worker, and the counters that it writes.
struct scratch {
	struct worker *w;
	struct snapshot snapshot;
	struct objects objects; // of the snapshot
	struct decisions decisions[DECIDERS];
	struct translating translating;
};

// A TCP header without options is a SYN.
static void l4_write(uint8_t *l4, const struct match_query *q)
{
	const rte_be16_t ports[] = {
		rte_cpu_to_be_16(q->source_port), rte_cpu_to_be_16(q->destination_port)};

	memcpy(l4, ports, sizeof(ports));
	if (q->proto == IPPROTO_UDP)
		((struct rte_udp_hdr *)l4)->dgram_len = RTE_BE16(L4_LEN);
	if (q->proto == IPPROTO_TCP) {
		((struct rte_tcp_hdr *)l4)->data_off = L4_LEN / 4 << 4;
		((struct rte_tcp_hdr *)l4)->tcp_flags = RTE_TCP_SYN_FLAG;
	}
}

// Returns the length of the packet.
static uint16_t packet_write(uint8_t packet[PKT_MAX], const struct match_query *q)
{
	uint16_t off;

	if (acl_is_icmp(q->proto))
		return icmp_echo_build(packet, &q->source, &q->destination, 0, 0);
	memset(packet, 0, PKT_MAX);
	off = ip_header_write(packet, &q->source, &q->destination, q->proto, L4_LEN);
	l4_write(packet + off, q);
	return (uint16_t)(off + L4_LEN);
}

// An SA that the policy receives by; NULL: IKE has none for it.
static struct sa_in *receives_by(const struct snapshot *s, const struct spd_policy *policy)
{
	const struct sa_list *sas = &s->objects->sas;

	for (unsigned int i = 0; i < sas->n_in; i++)
		if (spd_receives(policy, sas->in[i]))
			return sas->in[i];
	return NULL;
}

// Finds the packet's ingress port, and the SA that it is decapsulated from.
static int find_ingress(struct pkt *p, const struct snapshot *s, const struct match_query *q)
{
	const struct nexthop *back = hop_find(
		s, route_find(s->routes, &q->source), &q->destination, &q->source, 0, NULL);
	const struct spd_policy *policy;
	const struct ip_view v = pkt_view(p);

	if (!nexthop_leads_on(back))
		return -EHOSTUNREACH;
	if (back->kind == NEXTHOP_LOCAL)
		return -EADDRINUSE;
	p->iface = s->iface[back->iface].port;
	if (back->kind == NEXTHOP_TUNNEL) {
		policy = snapshot_tunnel(s, back);
		p->sa_in = policy != NULL ? receives_by(s, policy) : NULL;
		return p->sa_in != NULL ? 0 : -EHOSTUNREACH;
	}
	policy = policy_find_inbound(s, &v);
	if (s->iface[back->iface].unprotected && policy != NULL && policy->action == SPD_PROTECT)
		p->sa_in = receives_by(s, policy);
	return 0;
}

static const struct nat_rule *source_rule(const struct worker *w, const struct pkt *p)
{
	const struct nat_rule *rule = NULL;
	struct classifier_key key;

	if (translate_asks_source(w, p, &key))
		nat_set_find_each(w->snapshot->nat, NAT_FROM, &key, 1, &rule);
	return rule;
}

// The slow path of transit.c, without packets sent and state stored.
static enum drop match_evaluate(struct match *m, struct worker *w, struct pkt *p)
{
	struct policies found;
	struct flow_pkt fp;
	enum drop d = flow_pkt_read(&fp, pkt_ip(p), &p->ip);
	struct port_choice port = {.rule = NULL};
	bool translated;

	if (d != DROP_NONE)
		return d;
	translated = translate_begin(w, p, &fp, NULL);
	d = forward_lookup(w, p);
	if (d != DROP_NONE)
		return d;
	if (pkt_is_local(p) && !natt_is_ike(w, p, &fp))
		m->local = host_rule_new(w, p, &fp) == 0;
	if (translated && !m->local)
		d = translate_source(w, p, &fp, source_rule(w, p), &port);
	if (d == DROP_NONE && translated && !m->local) {
		translate_port_look(w, p, &fp, &port);
		d = translate_port(w, p, &fp, &port);
	}
	if (d != DROP_NONE)
		return d;
	policy_find(w, &p, 1, &found);
	d = policy_apply(w, p, &fp, &found);
	if (d == DROP_NONE && m->local)
		return local_check_new(w, p);
	if (d == DROP_NONE && p->sa_out == NULL)
		d = forward_check_route(p);
	if (d != DROP_NONE)
		return d;
	m->rule = firewall_find(w, p, RULE_NEW);
	return m->rule->action == RULE_ACCEPT ? DROP_NONE
	       : m->rule->action == RULE_DROP ? DROP_RULE_DROP
					      : DROP_RULE_REJECT;
}

static void result_write(struct match *m, const struct worker *w, const struct pkt *p)
{
	const struct flow_translation *t = translate_of(w);

	for (enum nat_end end = 0; t != NULL && end < NAT_ENDS; end++)
		m->nat[end] = nat_set_numbered(w->snapshot->nat, t->rule[end]);
	m->to = t != NULL ? t->to : (struct ip_ends){.src = pkt_src(p), .dst = pkt_dst(p)};
	m->sa_in = p->sa_in;
	m->in_by = snapshot_policy(w->snapshot, w->by.in);
	m->iface = spd_policy_is_routed(m->in_by) ? m->in_by->iface : p->iface;
	m->out_by = snapshot_policy(w->snapshot, w->by.out);
	m->sa_out = p->sa_out;
	m->nexthop = p->sa_out != NULL && !pkt_goes_into_tunnel(p) ? sa_out_path(p->sa_out)->nexthop
								   : p->nexthop;
	m->host = pkt_is_for_host(p);
	if (m->reason == DROP_NONE && p->sa_out != NULL && m->nexthop == NULL)
		m->reason = DROP_PEER_UNKNOWN;
	if (m->reason == DROP_NONE && p->sa_out != NULL)
		m->reason = sa_stop_reason(&p->sa_out->sa);
	if (m->reason == DROP_NONE && !m->local && !m->host)
		m->mtu = forward_mtu(w, p);
}

static void scratch_free(struct scratch *x)
{
	line_free(x->w);
	for (unsigned int i = 0; i < DECIDERS; i++)
		free(x->decisions[i].worker[0]);
}

static int scratch_init(struct scratch *x, const struct worker *as, const struct snapshot *s)
{
	bool complete = true;

	x->snapshot = *s;
	x->objects = *s->objects;
	x->snapshot.objects = &x->objects;
	x->w = line_calloc(1, sizeof(*x->w));
	for (unsigned int i = 0; i < DECIDERS; i++) {
		x->decisions[i].worker[0] = calloc(decider_numbers[i], sizeof(struct decided));
		x->objects.decisions[i] = &x->decisions[i];
		complete = complete && x->decisions[i].worker[0] != NULL;
	}
	if (x->w == NULL || !complete) {
		scratch_free(x);
		return -ENOMEM;
	}
	x->w->snapshot = &x->snapshot;
	x->translating.active = false;
	x->w->translating = &x->translating;
	x->w->dad = as->dad;
	x->w->flows = as->flows;
	x->w->hash_key = as->hash_key;
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		x->w->to_host[i] = as->to_host[i];
	return 0;
}

int match_run(struct match *m, const struct worker *as, const struct snapshot *s,
	const struct match_query *q)
{
	uint8_t packet[PKT_MAX] __rte_aligned(8);
	struct rte_mbuf mbuf = {.buf_addr = packet};
	struct pkt p = {.m = &mbuf};
	struct scratch x;
	int rc;

	if (ip_addr_is_v4(&q->source) != ip_addr_is_v4(&q->destination))
		return -EINVAL;
	mbuf.data_len = packet_write(packet, q);
	mbuf.pkt_len = mbuf.data_len;
	ip_layout_read(&p.ip, packet);
	rc = find_ingress(&p, s, q);
	if (rc == 0)
		rc = scratch_init(&x, as, s);
	if (rc < 0)
		return rc;
	*m = (struct match){0};
	m->reason = match_evaluate(m, x.w, &p);
	result_write(m, x.w, &p);
	scratch_free(&x);
	return 0;
}
