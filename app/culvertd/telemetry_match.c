// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_match.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "match.h"
#include "telemetry_filter.h"

#define SOURCE_PORT 49152 // the first of those that hosts choose (RFC 6335 6)

static bool parse_source(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return ip_addr_parse(&((struct match_query *)query)->source, value) == 0;
}

static bool parse_destination(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return ip_addr_parse(&((struct match_query *)query)->destination, value) == 0;
}

static bool parse_proto(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return proto_parse(&((struct match_query *)query)->proto, value);
}

static bool port_read(uint16_t *port, const char *value)
{
	unsigned int number;

	if (!number_parse(&number, value, UINT16_MAX))
		return false;
	*port = (uint16_t)number;
	return true;
}

static bool parse_source_port(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return port_read(&((struct match_query *)query)->source_port, value);
}

static bool parse_destination_port(void *query, const struct snapshot *s, const char *value)
{
	(void)s;
	return port_read(&((struct match_query *)query)->destination_port, value);
}

static const struct filter_key keys[] = {
	{"source", parse_source, "an address"},
	{"destination", parse_destination, "an address"},
	{"proto", parse_proto, "a name or a number from 0 to 255"},
	{"source_port", parse_source_port, "a number from 0 to 65535"},
	{"destination_port", parse_destination_port, "a number from 0 to 65535"},
};

static const char *name_of(const struct spd_policy *policy)
{
	return policy != NULL ? policy->name : "";
}

static const char *verdict_of(const struct match *m)
{
	if (m->reason != DROP_NONE)
		return "drop";
	return m->local ? "local" : m->sa_out != NULL ? "protect" : "forward";
}

// The route to the destination, and the station that the frame is for; as the list of routes says.
static void add_route(struct rte_tel_data *d, const struct snapshot *s, const struct match_query *q)
{
	const struct nexthop *nh = route_find(s->routes, &q->destination);

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
	add_string(d, "sa_in", m->sa_in != NULL ? m->sa_in->sa.name : "");
	add_string(d, "policy_in", name_of(m->in_by));
	add_string(d, "policy_out", name_of(m->out_by));
	add_route(d, s, q);
	add_string(d, "rule", m->rule != NULL ? m->rule->name : "");
	add_string(d, "sa_out", m->sa_out != NULL ? m->sa_out->sa.name : "");
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
		return "source and destination must be of one family";
	case EHOSTUNREACH:
		return "there is no route back to the source: its port is not known";
	case EADDRINUSE:
		return "the source is an address of this gateway";
	default:
		return "no memory";
	}
}

// A ping, unless a protocol is asked for; ports of the protocols that have them.
static void query_complete(struct match_query *q)
{
	if (q->proto == 0)
		q->proto = ip_addr_is_v4(&q->source) ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	if (q->source_port == 0 && q->destination_port != 0)
		q->source_port = SOURCE_PORT;
}

void match_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	struct rte_tel_data *o;
	char why[RTE_TEL_MAX_STRING_LEN];
	struct match_query q = {0};
	struct match m;
	int rc;

	if (offset > 0)
		return;
	pthread_mutex_lock(&g->lock);
	if (!filter_items_parse(&q, keys, RTE_DIM(keys), g->snapshot, filter, why, sizeof(why))) {
		add_string(d, "error", why);
	} else {
		query_complete(&q);
		rc = match_run(&m, g->snapshot, &q);
		o = rc == 0 ? item_new() : NULL;
		if (rc < 0)
			add_string(d, "error", error_text(rc));
		if (o != NULL) {
			match_add(o, g->snapshot, &m, &q);
			add_item(d, 0, o);
		}
	}
	pthread_mutex_unlock(&g->lock);
}
