// SPDX-License-Identifier: BSD-3-Clause
#include "translate.h"

#include <netinet/in.h>

#include "icmp.h"
#include "keyed_hash.h"
#include "tracepoint.h"

#define REPORT_AGAIN_MS 10000

// --- views ---

const struct flow_translation *translate_of(const struct worker *w)
{
	return worker_translates(w) && (w->translating->flow.rule[NAT_TO] != 0 ||
					       w->translating->flow.rule[NAT_FROM] != 0)
		       ? &w->translating->flow
		       : NULL;
}

void translate_quoted(const struct worker *w, struct ip_view *quoted)
{
	const struct ip_ends *to;

	if (!worker_translates(w))
		return;
	to = &w->translating->flow.to;
	quoted->src = to->dst;
	quoted->dst = to->src;
	quoted->src_port = to->dst_port;
	quoted->dst_port = to->src_port;
}

// --- known flows ---

// The ends of packets of the flow's direction after translation.
static struct ip_ends ends_of(const struct worker *w, const struct flow *f, unsigned int dir)
{
	const struct flow_nat *nat = flow_nat_of(w->flows, f);

	return dir == nat->first ? flow_key_ends(&nat->key, !nat->sender)
				 : flow_key_ends(&f->key, !nat->first);
}

bool translate_is_void(const struct worker *w, const struct flow *f)
{
	const struct flow_nat *nat = flow_nat_of(w->flows, f);
	const struct nexthop *own;
	struct ip_addr source;

	if ((flow_word(f) & FLOW_TRANSLATED) == 0 || !nat->of_port)
		return false;
	source = ends_of(w, f, nat->first).src;
	own = route_find(w->snapshot->routes, &source);
	return own == NULL || own->kind != NEXTHOP_LOCAL;
}

// The ends of a packet of the flow as it was received.
static struct ip_ends ends_received(const struct flow_pkt *fp)
{
	return flow_key_ends(&fp->key, fp->dir ^ fp->reversed);
}

// An error goes to the sender of the packet that it quotes. Its own source, any router, changes
// where sources of its direction do, as with Linux.
static struct ip_addr error_source(
	const struct pkt *p, const struct flow_pkt *fp, const struct ip_ends *to)
{
	const struct ip_ends received = ends_received(fp);

	return ip_addr_equal(&received.src, &to->src) ? pkt_src(p) : to->src;
}

static bool ends_equal(const struct ip_ends *a, const struct ip_ends *b)
{
	return ip_addr_equal(&a->src, &b->src) && ip_addr_equal(&a->dst, &b->dst) &&
	       a->src_port == b->src_port && a->dst_port == b->dst_port;
}

bool translate_fits(const struct worker *w, const struct flow_pkt *fp, const struct flow *f)
{
	if (likely(!flow_table_translates(w->flows)))
		return true;

	const struct ip_ends received = ends_received(fp);
	const struct ip_ends to =
		(flow_word(f) & FLOW_TRANSLATED) != 0 ? ends_of(w, f, fp->dir) : received;

	return ends_equal(&to, worker_translates(w) ? &w->translating->flow.to : &received);
}

static struct ip_ends reversed(const struct ip_ends *e)
{
	return (struct ip_ends){e->dst, e->src, e->dst_port, e->src_port};
}

static void trace_translated(struct worker *w, const struct pkt *p, const struct flow *f)
{
	for (enum nat_end end = 0; end < NAT_ENDS; end++) {
		const uint16_t number = flow_nat_of(w->flows, f)->rule[end];
		const struct nat_rule *rule = nat_set_numbered(w->snapshot->nat, number);

		if (number != 0)
			trace_record(w, p, TRACE_TRANSLATED,
				&(struct trace_fact){.name = rule != NULL ? rule->name : NULL});
	}
}

void translate_packet(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct flow *f)
{
	const struct ip_ends to = ends_of(w, f, fp->dir), quoted = reversed(&to);
	const struct ip_addr src = error_source(p, fp, &to);

	if (unlikely(fp->icmp_error))
		ip_translate_error(pkt_ip(p), &p->ip, &src, &quoted);
	else
		ip_translate(pkt_ip(p), &p->ip, &to);
	if (unlikely(w->tracing != NULL))
		trace_translated(w, p, f);
}

// Whether a packet that is to be sent was translated. Sets *sent then: its ends before.
static bool find_back(const struct worker *w, const struct pkt *p, struct ip_ends *sent)
{
	const struct flow *f;
	struct flow_pkt fp; // of its replies

	if (w->failed != NULL) {
		*sent = w->failed->sent;
		return w->failed->translated;
	}
	if (!flow_table_translates(w->flows) || w->as_received ||
		flow_pkt_read_quoted(&fp, pkt_ip(p), p->ip.v4) != DROP_NONE)
		return false;
	flow_lookup_start(w->flows, &fp);
	f = flow_find(w->flows, &fp);
	if (f == NULL || (flow_word(f) & FLOW_TRANSLATED) == 0)
		return false;
	*sent = ends_of(w, f, fp.dir);
	*sent = reversed(sent);
	return true;
}

void translate_hold(const struct worker *w, struct held *h)
{
	h->translated = find_back(w, &h->p, &h->sent);
}

bool translate_sent(const struct worker *w, const struct pkt *p, struct ip_ends *sent)
{
	const bool before = !find_back(w, p, sent);
	const struct ip_addr to =
		before && worker_translates(w) ? w->translating->flow.to.dst : pkt_dst(p);

	if (before)
		*sent = (struct ip_ends){.src = pkt_src(p), .dst = pkt_dst(p)};
	return !ip_addr_equal(&sent->dst, &to);
}

void translate_error(const struct worker *w, const struct pkt *about, struct pkt *error)
{
	const struct ip_addr src = pkt_src(error);
	struct ip_ends sent;

	if (find_back(w, about, &sent))
		ip_translate_error(pkt_ip(error), &error->ip, &src, &sent);
}

// --- new flows ---

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP;
}

// Rules for destinations see no route: that to the untranslated destination, which reassembled
// packets have, is another.
static struct classifier_key key_of(const struct worker *w, const struct pkt *p, enum nat_end end)
{
	const struct ip_view v = translate_view_rules(w, p);
	struct classifier_key key = classifier_key_of(&v);
	const struct spd_policy *tunnel =
		p->sa_in != NULL ? spd_find_tunnel(w->snapshot->spd, p->sa_in) : NULL;

	key.in = rte_cpu_to_be_32(tunnel != NULL ? tunnel->iface : pkt_port(w, p));
	key.out = rte_cpu_to_be_32(end == NAT_FROM ? p->nexthop->iface : PORTS_MAX);
	return key;
}

static void rule_note(struct worker *w, const struct nat_rule *rule)
{
	w->translating->flow.rule[rule->end] = rule->number;
	w->translating->flow.logged |= rule->log;
}

static const struct nat_rule *find_for_destination(const struct worker *w, const struct pkt *p)
{
	const struct nat_rule *rule;
	struct classifier_key key;

	if (translate_serves(
		    w, p, &w->translating->flow.to.dst, w->translating->flow.to.dst_port) ||
		!nat_set_translates(w->snapshot->nat, NAT_TO))
		return NULL;
	key = key_of(w, p, NAT_TO);
	nat_set_find_each(w->snapshot->nat, NAT_TO, &key, 1, &rule);
	return rule;
}

static void translate_destination(struct worker *w, const struct pkt *p)
{
	struct ip_ends *to = &w->translating->flow.to;
	const struct nat_rule *rule = find_for_destination(w, p);

	if (rule == NULL)
		return;
	rule_note(w, rule);
	w->translating->port_may_change = rule->action == NAT_DESTINATION;
	to->dst = nat_rule_address(rule, &to->dst);
	if (has_ports(p->ip.proto))
		to->dst_port = nat_rule_port(rule, to->dst_port);
}

// Packets of the host, and of a station with the IKE daemon, which has an own address.
static bool is_own(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p);

	return pkt_iface(w, p)->is_host || snapshot_has(w->snapshot, &src);
}

bool translate_begin(
	struct worker *w, const struct pkt *p, const struct flow_pkt *fp, const struct flow *f)
{
	if (f != NULL && (flow_word(f) & FLOW_TRANSLATED) != 0) {
		w->translating->flow = (struct flow_translation){.to = ends_of(w, f, fp->dir)};
		w->translating->src = fp->icmp_error ? error_source(p, fp, &w->translating->flow.to)
						     : w->translating->flow.to.src;
		w->translating->active = true;
		return true;
	}
	w->translating->active =
		f == NULL && w->snapshot->nat != NULL && !fp->icmp_error && !is_own(w, p);
	if (!w->translating->active)
		return false;
	w->translating->flow = (struct flow_translation){.to = ends_received(fp)};
	w->translating->src = w->translating->flow.to.src;
	w->translating->port_may_change = false;
	translate_destination(w, p);
	return true;
}

// Of IPv4 and of ranges in the last 32 bits of IPv6: one for each source.
static struct ip_addr choose_address(
	const struct worker *w, const struct nat_rule *rule, const struct ip_addr *src)
{
	const uint64_t word[] = {src->q[0], src->q[1]};
	const uint32_t first = rte_be_to_cpu_32(rule->first.w[3]);
	const uint64_t n = (uint64_t)rte_be_to_cpu_32(rule->last.w[3]) - first + 1;
	struct ip_addr a = rule->first;

	if (n > 1)
		a.w[3] = rte_cpu_to_be_32(
			first +
			(uint32_t)((keyed_hash(&w->hash_key, word, RTE_DIM(word)) & UINT32_MAX) *
					   n >>
				   32));
	return a;
}

// The address of the interface that the packet leaves by; none: it has none of the family.
static struct ip_addr port_address(const struct worker *w, const struct pkt *p)
{
	const struct nexthop *nh = p->nexthop;
	const struct iface *iface = &w->snapshot->iface[nh->iface];

	if (!ip_addr_is_none(&nh->source) && ip_addr_is_v4(&nh->source) == p->ip.v4)
		return nh->source;
	for (unsigned int i = 0; i < iface->n_addrs; i++)
		if (ip_addr_is_v4(&iface->addrs[i]) == p->ip.v4 &&
			!ip_addr_is_link_local(&iface->addrs[i]))
			return iface->addrs[i];
	return (struct ip_addr){0};
}

// Whether packets of the flow have a source port, or an identifier in its place.
static bool may_change_port(const struct pkt *p, const struct flow_pkt *fp)
{
	return has_ports(p->ip.proto) ||
	       (fp->key.asker != 0 && icmp_has_ident(p->ip.icmp_type, p->ip.v4));
}

static enum drop choose_source(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct nat_rule *rule, struct port_choice *port)
{
	struct flow_translation *t = &w->translating->flow;

	if (rule == NULL && w->translating->port_may_change && may_change_port(p, fp))
		translate_port_begin(w, p, fp, &translate_no_rule, port);
	if (rule == NULL)
		return DROP_NONE;
	rule_note(w, rule);
	if (rule->action == NAT_NETMAP)
		t->to.src = nat_rule_address(rule, &t->to.src);
	else
		t->to.src = rule->port ? port_address(w, p) : choose_address(w, rule, &t->to.src);
	t->of_port = rule->port;
	if (ip_addr_is_none(&t->to.src) ||
		(rule->action == NAT_NETMAP && translate_serves(w, p, &t->to.src, t->to.src_port)))
		return DROP_NAT_PORTS;
	if (rule->action == NAT_SOURCE && may_change_port(p, fp))
		translate_port_begin(w, p, fp, rule, port);
	return DROP_NONE;
}

bool translate_asks_source(const struct worker *w, const struct pkt *p, struct classifier_key *key)
{
	if (!nexthop_leads_on(p->nexthop) || !nat_set_translates(w->snapshot->nat, NAT_FROM))
		return false;
	*key = key_of(w, p, NAT_FROM);
	return true;
}

enum drop translate_source(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct nat_rule *rule, struct port_choice *port)
{
	enum drop d =
		nexthop_leads_on(p->nexthop) ? choose_source(w, p, fp, rule, port) : DROP_NONE;

	w->translating->src = w->translating->flow.to.src;
	w->translating->active = translate_of(w) != NULL;
	return d;
}

static void report_ports(
	struct worker *w, const struct pkt *p, struct decided *decided, uint16_t rule)
{
	const struct ip_view v = pkt_view(p);
	struct event e = worker_event_about(w, p, &v, EVENT_NAT_EXHAUSTED);

	if (!worker_is_due(w, &decided->next, REPORT_AGAIN_MS))
		return;
	e.rule = rule;
	worker_event_post(w, &e);
}

void translate_count(struct worker *w, const struct pkt *p, enum drop d)
{
	struct decided *of = w->snapshot->objects->decisions[DECIDER_NAT]->worker[w->id];

	for (enum nat_end end = 0; worker_translates(w) && end < NAT_ENDS; end++) {
		const uint16_t rule = w->translating->flow.rule[end];

		if (d == DROP_NONE)
			of[rule].packets++;
		if (d == DROP_NAT_PORTS || d == DROP_NAT_LIMIT)
			of[rule].asked++;
		if (d == DROP_NAT_PORTS && rule != 0)
			report_ports(w, p, &of[rule], rule);
	}
}
