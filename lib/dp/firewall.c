// SPDX-License-Identifier: BSD-3-Clause
#include "firewall.h"

#include "decided_run.h"
#include "error.h"
#include "ip_view.h"
#include "policy.h"
#include "tracepoint.h"
#include "translate.h"

static rte_be32_t tunnel_number(const struct worker *w, uint16_t number)
{
	const struct spd_policy *policy = snapshot_policy(w->snapshot, number);
	bool tunnel = policy != NULL && policy->action == SPD_PROTECT;

	return tunnel ? rte_cpu_to_be_32(number) : 0;
}

// A tunnel that routes lead into is the ingress of packets out of it.
static uint16_t in_iface(const struct worker *w, const struct pkt *p)
{
	const struct spd_policy *by = snapshot_policy(w->snapshot, p->in_by);

	if (p->sa_in != NULL && p->in_by == 0) // no policy has been found yet
		by = spd_find_tunnel(w->snapshot->spd, p->sa_in);
	return spd_policy_is_routed(by) ? by->iface : pkt_port(w, p);
}

// A tunnel that routes lead into is the egress of packets into it; that of a packet that a policy
// protects is that of the path to its peer. Of a packet of a known flow the next hop is not known.
static uint16_t out_iface(const struct worker *w, const struct pkt *p)
{
	const struct spd_policy *by = snapshot_policy(w->snapshot, w->by.out);
	const struct nexthop *nh = p->nexthop;

	if (p->sa_out != NULL && spd_policy_is_routed(by))
		return by->iface;
	if (p->sa_out != NULL)
		nh = sa_out_path(p->sa_out)->nexthop;
	return nh != NULL ? nh->iface : PORTS_MAX;
}

static struct classifier_key key_of(const struct worker *w, const struct pkt *p)
{
	const struct ip_view v = translate_view_rules(w, p);
	struct classifier_key key = classifier_key_of(&v);

	key.in = rte_cpu_to_be_32(in_iface(w, p));
	key.out = rte_cpu_to_be_32(out_iface(w, p));
	key.tunnel_in = tunnel_number(w, p->in_by);
	key.tunnel_out = tunnel_number(w, w->by.out);
	return key;
}

static void rule_post_event(struct worker *w, const struct pkt *p, unsigned int rule)
{
	const struct ip_view v = pkt_view(p);
	struct event e = worker_event_about(w, p, &v, EVENT_RULE);

	e.rule = rule;
	e.generation = w->snapshot->flow_generation;
	worker_event_post(w, &e);
}

// RFC 9293 3.5.2 for TCP, RFC 1812 5.2.7.1 and RFC 4443 3.1 for the rest.
static void send_reject(struct worker *w, const struct pkt *p, const struct flow_pkt *fp)
{
	if (fp->key.proto == IPPROTO_TCP && !fp->icmp_error)
		error_send_reset(w, p);
	else
		error_send(w, p, ERROR_PROHIBITED, 0);
}

static bool is_default(const struct worker *w, unsigned int rule)
{
	return rule + 1 == rule_set_count(w->snapshot->rules);
}

static enum rule_scope scope_of(const struct pkt *p)
{
	return pkt_is_for_host(p) ? RULE_HOST : RULE_FORWARD;
}

// The index of the rule that decides about a packet.
static unsigned int rule_find(const struct worker *w, const struct pkt *p, enum rule_state state)
{
	const struct rule_set *rules = w->snapshot->rules;
	struct classifier_key key;

	if (rule_set_count(rules) == 1) // the default alone
		return 0;
	key = key_of(w, p);
	return rule_set_decide(rules, scope_of(p), &key, state);
}

// Applies the i-th rule to the packet.
static enum drop rule_apply(struct worker *w, struct pkt *p, const struct flow_pkt *fp,
	unsigned int i, enum rule_state state)
{
	static const enum trace_kind rule_kind[] = {
		[RULE_ACCEPT] = TRACE_RULE_ACCEPT,
		[RULE_DROP] = TRACE_RULE_DROP,
		[RULE_REJECT] = TRACE_RULE_REJECT,
	};
	const struct rule *rule = rule_set_at(w->snapshot->rules, i);

	if (unlikely(pkt_is_for_host(p)) && is_default(w, i) && state != RULE_RELATED)
		return DROP_LOCAL_UNSERVED;

	struct decided *decided = decided_of_rule(w, rule->number);

	decided->asked++;
	decided_add(decided, 1, rte_pktmbuf_pkt_len(p->m));
	w->by.rule = rule->number;
	trace_note(w, p, rule_kind[rule->action], (struct trace_fact){.name = rule->name});
	// An error about a connection is related to it, and accepted unless a rule drops it: a
	// default that dropped it would make a black hole.
	if (state == RULE_RELATED && is_default(w, i))
		return DROP_NONE;
	if (rule->log && (rule->action != RULE_ACCEPT || state == RULE_NEW))
		rule_post_event(w, p, i);
	switch (rule->action) {
	case RULE_ACCEPT:
		return DROP_NONE;
	case RULE_DROP:
		return DROP_RULE_DROP;
	case RULE_REJECT:
		break;
	}
	send_reject(w, p, fp);
	return DROP_RULE_REJECT;
}

const struct rule *firewall_find(const struct worker *w, const struct pkt *p, enum rule_state state)
{
	return rule_set_at(w->snapshot->rules, rule_find(w, p, state));
}

enum drop firewall_check(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, enum rule_state state)
{
	return rule_apply(w, p, fp, rule_find(w, p, state), state);
}

// ICMP type and code of the query that a reply belongs to, in the form of acl_sender_port().
static rte_be32_t query_port(const struct flow_key *key)
{
	return rte_cpu_to_be_32((uint32_t)key->icmp_type << 8 | key->icmp_code);
}

enum drop firewall_check_reply(struct worker *w, struct pkt *p, const struct flow_pkt *fp)
{
	const struct classifier_key reply = key_of(w, p);
	struct classifier_key key = classifier_key_reversed(&reply);

	if (acl_is_icmp(key.proto)) {
		key.source_port = query_port(&fp->key);
		key.destination_port = reply.destination_port;
	}
	return rule_apply(w, p, fp,
		rule_set_decide(w->snapshot->rules, RULE_FORWARD, &key, RULE_ESTABLISHED),
		RULE_ESTABLISHED);
}

uint32_t firewall_rule_of(const struct worker *w, const struct pkt *p, enum rule_state state)
{
	unsigned int i = rule_find(w, p, state);

	return is_default(w, i) ? 0 : rule_set_at(w->snapshot->rules, i)->number;
}

bool firewall_accepts_invalid(struct worker *w, const struct pkt *p)
{
	unsigned int i = rule_find(w, p, RULE_INVALID);

	return !is_default(w, i) && rule_set_at(w->snapshot->rules, i)->action == RULE_ACCEPT;
}
