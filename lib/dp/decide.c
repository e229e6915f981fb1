// SPDX-License-Identifier: BSD-3-Clause
#include "decide.h"

#include "decided_run.h"
#include "egress.h"
#include "firewall.h"
#include "flow_track.h"
#include "forward.h"
#include "hop_group.h"
#include "host.h"
#include "translate.h"

// Policy and route. A packet that a standby group would send is dropped here, so that no flow
// begins.
static enum drop find_egress(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct policies *found)
{
	enum drop d;

	if (worker_translates(w) && unlikely(dad_is_standby(w->dad, &w->translating->src)))
		return DROP_STANDBY;
	d = policy_apply(w, p, fp, found);
	if (d != DROP_NONE)
		return d;
	if (p->sa_out == NULL)
		return forward_route(w, p);
	// Without a flow, later packets use no sequence numbers either.
	return sa_stop_reason(&p->sa_out->sa) == DROP_STANDBY ? DROP_STANDBY : DROP_NONE;
}

// The number of the policy that admitted the packets of a decision; 0: they were received in clear.
static uint16_t admitting_policy(const struct flow_decision *d)
{
	return d->ingress >= INGRESS_SA_MIN ? d->by.in : 0;
}

static struct flow_decision decision_of(const struct worker *w, const struct pkt *p)
{
	return (struct flow_decision){
		.by = w->by,
		.egress = egress_of(w, p),
		.ingress = ingress_of(w, p),
		.mark = w->snapshot->flow_generation,
	};
}

// Rules decide about the first packet of a connection; later ones are accepted with it, as long as
// the rules are the same. Without the flow f, state is that of the packet. The kernel filters
// packets of its own programs.
static enum drop check_rules(struct worker *w, struct pkt *p, const struct flow_pkt *fp,
	const struct flow *f, enum rule_state state)
{
	struct flow_decision begun;

	if (pkt_iface(w, p)->is_host)
		return DROP_NONE;
	if (f == NULL || flow_reopens(f, fp))
		return firewall_check(w, p, fp, state);
	if (pkt_is_for_host(p) && host_began(f, fp))
		return DROP_NONE;
	if (fp->icmp_error)
		return firewall_check(w, p, fp, RULE_RELATED);
	if (flow_word_initiator(flow_word(f)) == fp->dir)
		return firewall_check(
			w, p, fp, flow_ct(f, fp) == FLOW_CT_NEW ? RULE_NEW : RULE_ESTABLISHED);
	if (flow_decision_get(f, !fp->dir, w->snapshot->flow_generation, &begun)) {
		w->by.rule = begun.by.rule;
		if (begun.by.rule != 0)
			decided_add(decided_of_rule(w, begun.by.rule), 1, fp->ip_len);
		return DROP_NONE;
	}
	return firewall_check_reply(w, p, fp);
}

// Evaluates a packet of the flow f, or of one without a flow, in that state. One whose TTL
// expires makes none.
static enum drop evaluate(struct worker *w, struct pkt *p, const struct flow_pkt *fp,
	const struct policies *found, const struct flow *f, enum rule_state state)
{
	enum drop d = find_egress(w, p, fp, found);

	if (d == DROP_NONE)
		d = check_rules(w, p, fp, f, state);
	return d == DROP_NONE ? forward_check_hops(w, p) : d;
}

enum drop decide_invalid(struct worker *w, struct pkt *p, struct flow_pkt *fp, enum drop reason)
{
	struct policies found;
	struct route_ends ends;
	const struct flow *f;
	enum drop d;

	if (pkt_iface(w, p)->is_host || pkt_is_for_host(p) || worker_translates(w) ||
		!firewall_accepts_invalid(w, p))
		return reason;
	p->sa_out = NULL; // that of the flow, which is not used
	f = flow_find(w->flows, fp);
	ends = forward_ends(w, p);
	d = forward_by(w, p, &ends, f != NULL ? egress_former(w, f, fp->dir) : NULL);
	if (d != DROP_NONE)
		return d;
	policy_find(w, &p, 1, &found);
	return evaluate(w, p, fp, &found, NULL, RULE_INVALID);
}

static enum drop begin_flow(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	const struct flow_decision *decision, struct flow **f)
{
	const struct flow_translation *translation = translate_of(w);
	enum drop d = flow_insert(
		w->flows, w->id, fp, translation, worker_holder(w, p), w->now_ms, decision, f);

	if (unlikely(d == FLOW_EXISTS))
		return translate_fits(w, fp, *f) ? DROP_NONE : STALE;
	if (unlikely(d == FLOW_PORT_TAKEN)) {
		*f = NULL;
		return STALE;
	}
	if (unlikely(translation != NULL))
		translate_count(w, p, d);
	return d;
}

enum drop decide_new_flow(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	const struct policies *found, struct flow **f)
{
	struct flow_decision decision;
	enum drop d;

	if (fp->icmp_error) // about an unknown flow
		return decide_invalid(w, p, fp, DROP_ICMP_UNRELATED);
	d = evaluate(w, p, fp, found, NULL, RULE_NEW);
	if (d != DROP_NONE)
		return d;
	decision = decision_of(w, p);
	d = begin_flow(w, p, fp, &decision, f);
	if (d == DROP_FLOW_TABLE_FULL || d == DROP_FLOW_SOURCE_LIMIT || d == DROP_NAT_LIMIT ||
		d == DROP_NAT_PORTS || d == STALE)
		return d;
	if (d == DROP_NONE)
		d = flow_track(w->flows, w->id, *f, fp, w->now_ms);
	if (d != DROP_NONE) {
		*f = NULL;
		return decide_invalid(w, p, fp, d);
	}
	// Another worker's flow may have none, or a SYN that opened it again has removed it.
	if (unlikely(flow_decision_generation(*f, fp->dir) != w->snapshot->flow_generation))
		flow_decision_set(*f, fp->dir, w->snapshot->flow_generation, &decision);
	return DROP_NONE;
}

static __rte_always_inline bool decision_get(const struct worker *w, const struct flow_pkt *fp,
	const struct flow *f, struct flow_decision *d)
{
	return !flow_reopens(f, fp) &&
	       flow_decision_get(f, fp->dir, w->snapshot->flow_generation, d);
}

// Whether packets of the flow may come by the ingress of this one as well as by that of their
// decision: by another SA of the same policy, out of another tunnel by route, or by another port
// among the several next hops to their source. Sources and policies have been checked.
static bool may_come_by(const struct worker *w, const struct pkt *p, const struct flow_decision *d)
{
	const struct ip_addr src = pkt_src(p);
	const struct nexthop *back;
	uint16_t in_by = admitting_policy(d);

	if (in_by != 0 || p->sa_in != NULL)
		return in_by == p->in_by ||
		       (spd_policy_is_routed(snapshot_policy(w->snapshot, in_by)) &&
			       spd_policy_is_routed(snapshot_policy(w->snapshot, p->in_by)));
	back = route_find(w->snapshot->routes, &src);
	return back != NULL && back->kind == NEXTHOP_SEVERAL &&
	       nexthop_leads_into(back, (uint16_t)d->ingress) && nexthop_leads_into(back, p->iface);
}

enum drop decide_known_flow(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	const struct policies *found, struct flow *f)
{
	struct flow_decision decision;
	bool otherwise = decision_get(w, fp, f, &decision) && decision.ingress != ingress_of(w, p);
	enum drop d = evaluate(w, p, fp, found, f, RULE_NEW);

	if (d != DROP_NONE)
		return d;
	d = flow_track(w->flows, w->id, f, fp, w->now_ms);
	if (d != DROP_NONE)
		return decide_invalid(w, p, fp, d);
	// The result for an ICMP error is not the flow's.
	if (!fp->icmp_error && (!otherwise || may_come_by(w, p, &decision))) {
		decision = decision_of(w, p);
		flow_decision_set(f, fp->dir, w->snapshot->flow_generation, &decision);
	}
	return DROP_NONE;
}
