// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_pages.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "match.h"
#include "telemetry_add.h"
#include "telemetry_filter.h"

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

// The route to the destination, and the station that the frame is for; as the list of routes says.
static void add_route(struct rte_tel_data *d, const struct snapshot *s, const struct match_query *q)
{
	const struct nexthop *nh = route_find_from(s->routes, &q->source, &q->destination);

	if (nh == NULL)
		add_string(d, "route", "");
	else
		add_prefix(d, "route", &route_of(nh)->to);
}

static void add_next_hop(struct rte_tel_data *d, const struct match *m, const struct match_query *q)
{
	const struct nexthop *nh = m->nexthop;

	if (nh == NULL || nh->kind > NEXTHOP_GATEWAY)
		add_string(d, "next_hop", "");
	else if (nh->kind == NEXTHOP_GATEWAY)
		add_addr(d, "next_hop", &nh->gateway);
	else
		add_addr(
			d, "next_hop", m->sa_out != NULL ? &m->sa_out->peer.addr : &q->destination);
}

static bool has_egress(const struct match *m)
{
	return m->nexthop != NULL && m->nexthop->kind <= NEXTHOP_GATEWAY;
}

static void match_add(struct rte_tel_data *d, const struct snapshot *s, const struct match *m,
	const struct match_query *q)
{
	add_addr(d, "source", &q->source);
	add_addr(d, "destination", &q->destination);
	add_proto(d, "proto", q->proto);
	add_u64(d, "source_port", q->source_port);
	add_u64(d, "destination_port", q->destination_port);
	add_string(d, "port", s->port[m->port].name);
	add_string(d, "sa_in", m->sa_in != NULL ? m->sa_in->sa.live.name : "");
	add_string(d, "policy_in", name_of(m->in_by));
	add_string(d, "policy_out", name_of(m->out_by));
	add_route(d, s, q);
	add_string(d, "rule", m->rule != NULL ? m->rule->name : "");
	add_string(d, "sa_out", m->sa_out != NULL ? m->sa_out->sa.live.name : "");
	add_next_hop(d, m, q);
	add_string(d, "out", has_egress(m) ? s->port[m->nexthop->port].name : "");
	add_u64(d, "mtu", m->mtu);
	add_string(d, "verdict", verdict_of(m));
	add_string(d, "reason", m->reason != DROP_NONE ? drop_info[m->reason].name : "");
}

static const char *error_text(int rc)
{
	switch (-rc) {
	case EINVAL:
		return "source and destination must be of the same family";
	case EHOSTUNREACH:
		return "no route back to the source: its port is unknown";
	case EADDRINUSE:
		return "the source is an address of this gateway";
	default:
		return "out of memory";
	}
}

void match_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	struct rte_tel_data *o;
	char why[RTE_TEL_MAX_STRING_LEN];
	struct match_query q;
	struct match m;
	int rc;

	if (offset > 0)
		return;
	pthread_mutex_lock(&g->control.lock);
	if (!filter_match_parse(&q, g->control.snapshot, filter, why, sizeof(why))) {
		add_string(d, "error", why);
	} else {
		rc = match_run(&m, g->control.workers[0], g->control.snapshot, &q);
		o = rc == 0 ? item_new() : NULL;
		if (rc < 0)
			add_string(d, "error", error_text(rc));
		if (o != NULL) {
			match_add(o, g->control.snapshot, &m, &q);
			add_item(d, 0, o);
		}
	}
	pthread_mutex_unlock(&g->control.lock);
}
