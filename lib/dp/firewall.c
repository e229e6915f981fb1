// SPDX-License-Identifier: BSD-3-Clause
#include "firewall.h"

#include "icmp.h"
#include "ipv4.h"
#include "local.h"
#include "policy.h"

static rte_be32_t tunnel_number(const struct worker *w, const struct spd_policy *policy)
{
	bool tunnel = policy != NULL && policy->action == SPD_PROTECT;

	return tunnel ? rte_cpu_to_be_32(policy_index(w, policy) + 1) : 0;
}

// A protected packet leaves by the port that is on the way to the peer.
static uint16_t out_port(const struct pkt *p)
{
	const struct nexthop *nh = p->sa_out != NULL ? p->sa_out->path : p->nexthop;

	return nh != NULL ? nh->port : PORTS_MAX;
}

static struct rule_key key_of(const struct worker *w, const struct pkt *p)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	rte_be16_t src = 0, dst = 0;
	bool ports = ipv4_ports(ip, &src, &dst);
	const uint8_t *icmp_type = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);

	return (struct rule_key){
		.proto = ip->next_proto_id,
		.source = ip->src_addr,
		.destination = ip->dst_addr,
		.source_port =
			ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(src)) : RTE_BE32(ACL_PORT_OPAQUE),
		.destination_port =
			ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(dst)) : RTE_BE32(ACL_PORT_OPAQUE),
		.icmp_type = rte_cpu_to_be_32(
			ip->next_proto_id == IPPROTO_ICMP ? *icmp_type : RULE_ICMP_ANY),
		.in = rte_cpu_to_be_32(p->port),
		.out = rte_cpu_to_be_32(out_port(p)),
		.tunnel_in = tunnel_number(w, p->in_by),
		.tunnel_out = tunnel_number(w, p->out_by),
	};
}

static void tell_control(struct worker *w, const struct pkt *p, unsigned int rule)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	rte_be16_t src = 0, dst = 0;

	ipv4_ports(ip, &src, &dst);
	worker_tell(w, &(struct event){
			       .kind = EVENT_RULE,
			       .port = p->port,
			       .addr = ip_addr_from_v4(ip->src_addr),
			       .peer = ip_addr_from_v4(ip->dst_addr),
			       .addr_port = src,
			       .peer_port = dst,
			       .proto = ip->next_proto_id,
			       .rule = rule,
			       .generation = w->snapshot->generation,
		       });
}

// RFC 9293 3.5.2 for TCP, RFC 1812 5.2.7.1 for the rest.
static void reject(struct worker *w, const struct pkt *p, const struct flow_pkt *fp)
{
	if (pkt_ip(p)->next_proto_id == IPPROTO_TCP && !fp->icmp_error)
		local_reset(w, p);
	else
		local_error(
			w, p, (struct icmp_error){ICMP_UNREACHABLE, ICMP_UNREACH_PROHIBITED, 0});
}

static bool is_default(const struct worker *w, unsigned int rule)
{
	return rule + 1 == rule_set_count(w->snapshot->rules);
}

static enum drop ask(struct worker *w, struct pkt *p, const struct flow_pkt *fp,
	const struct rule_key *key, enum rule_state state)
{
	unsigned int i = rule_set_find(w->snapshot->rules, key, state);
	const struct rule *rule = rule_set_at(w->snapshot->rules, i);

	w->snapshot->rule_packets[w->id][i]++;
	// Errors about a connection belong to it, unless a rule says otherwise: who drops them by
	// default makes black holes.
	if (state == RULE_RELATED && is_default(w, i))
		return DROP_NONE;
	if (rule->log && (rule->action != RULE_ACCEPT || state == RULE_NEW))
		tell_control(w, p, i);
	switch (rule->action) {
	case RULE_ACCEPT:
		return DROP_NONE;
	case RULE_DROP:
		return DROP_RULE_DROP;
	case RULE_REJECT:
		break;
	}
	reject(w, p, fp);
	return DROP_RULE_REJECT;
}

enum drop firewall_ask(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, enum rule_state state)
{
	const struct rule_key key = key_of(w, p);

	return ask(w, p, fp, &key, state);
}

enum drop firewall_ask_answer(struct worker *w, struct pkt *p, const struct flow_pkt *fp)
{
	const struct rule_key seen = key_of(w, p);
	struct rule_key key = seen;

	key.source = seen.destination;
	key.destination = seen.source;
	key.source_port = seen.destination_port;
	key.destination_port = seen.source_port;
	key.in = seen.out;
	key.out = seen.in;
	key.tunnel_in = seen.tunnel_out;
	key.tunnel_out = seen.tunnel_in;
	if (seen.icmp_type == RTE_BE32(RTE_IP_ICMP_ECHO_REPLY))
		key.icmp_type = RTE_BE32(RTE_IP_ICMP_ECHO_REQUEST);
	return ask(w, p, fp, &key, RULE_ESTABLISHED);
}

bool firewall_accepts_invalid(struct worker *w, const struct pkt *p)
{
	const struct rule_key key = key_of(w, p);
	unsigned int i = rule_set_find(w->snapshot->rules, &key, RULE_INVALID);

	return !is_default(w, i) && rule_set_at(w->snapshot->rules, i)->action == RULE_ACCEPT;
}
