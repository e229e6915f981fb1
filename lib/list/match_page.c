// SPDX-License-Identifier: BSD-3-Clause
#include "page.h"

#include <errno.h>

#include "collect.h"
#include "filter.h"
#include "match.h"

static const char *name_of(const struct spd_policy *policy)
{
	return policy != NULL ? policy->name : "";
}

static const char *verdict_of(const struct match *m)
{
	if (m->reason != DROP_NONE)
		return "drop";
	if (m->host)
		return "host";
	return m->local ? "local" : m->sa_out != NULL ? "protect" : "forward";
}

// The station that the frame is for, as the list of routes has it.
static void next_hop_write(char text[IP_ADDR_STRLEN], const struct match *m)
{
	const struct nexthop *nh = m->nexthop;

	if (nh != NULL && nh->kind == NEXTHOP_GATEWAY)
		ip_addr_format(text, &nh->gateway);
	else if (nh != NULL && nh->kind < NEXTHOP_GATEWAY)
		ip_addr_format(text, m->sa_out != NULL ? &m->sa_out->peer.addr : &m->to.dst);
}

static const char *egress_of(const struct match *m, const struct snapshot *s)
{
	return m->nexthop != NULL && m->nexthop->kind <= NEXTHOP_TUNNEL
		       ? s->iface[m->nexthop->iface].name
		       : "";
}

static void translation_collect(struct match_view *v, const struct match *m)
{
	nat_rules_write(v->nat, m->nat);
	if (v->nat[0] == '\0')
		return;
	ip_addr_format(v->to_source, &m->to.src);
	ip_addr_format(v->to_destination, &m->to.dst);
	v->to_source_port = rte_be_to_cpu_16(m->to.src_port);
	v->to_destination_port = rte_be_to_cpu_16(m->to.dst_port);
}

static void match_collect(struct match_view *v, const struct snapshot *s, const struct match *m,
	const struct match_query *q)
{
	const struct nexthop *nh = route_find_from(s->routes, &q->source, &m->to.dst);

	*v = (struct match_view){
		.proto = q->proto,
		.source_port = q->source_port,
		.destination_port = q->destination_port,
		.port = s->iface[m->iface].name,
		.sa_in = m->sa_in != NULL ? m->sa_in->sa.live.name : "",
		.policy_in = name_of(m->in_by),
		.policy_out = name_of(m->out_by),
		.rule = m->rule != NULL ? m->rule->name : "",
		.sa_out = m->sa_out != NULL ? m->sa_out->sa.live.name : "",
		.out = egress_of(m, s),
		.mtu = m->mtu,
		.verdict = verdict_of(m),
		.reason = m->reason != DROP_NONE ? drop_info[m->reason].name : "",
	};
	ip_addr_format(v->source, &q->source);
	ip_addr_format(v->destination, &q->destination);
	if (nh != NULL)
		ip_prefix_format(v->route, &route_of(nh)->to);
	next_hop_write(v->next_hop, m);
	translation_collect(v, m);
}

static const char *error_text(int rc)
{
	switch (-rc) {
	case EINVAL:
		return "source and destination must be of the same family";
	case EHOSTUNREACH:
		return "no route leads to the source: its port is unknown, whatever policies say; "
		       "culvertctl trace shows real packets";
	case EADDRINUSE:
		return "the source is an address of this gateway";
	default:
		return "out of memory";
	}
}

void match_page(const struct page *p)
{
	char why[RTE_TEL_MAX_STRING_LEN];
	struct match_query q;
	struct match_view v;
	struct match m;
	int rc;

	if (p->offset > 0)
		return;
	if (!filter_match_parse(&q, p->c->snapshot, p->filter, why, sizeof(why))) {
		page_refuse(p, why);
		return;
	}
	rc = match_run(&m, p->c->workers[0], p->c->snapshot, &q);
	if (rc < 0) {
		page_refuse(p, error_text(rc));
		return;
	}
	match_collect(&v, p->c->snapshot, &m, &q);
	page_add_view(p, 0, "match", &v);
}
