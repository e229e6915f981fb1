// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "collect.h"

static const char *const owners[] = {[ROUTE_OWN] = "own",
	[ROUTE_NETWORK] = "port",
	[ROUTE_FILE] = "file",
	[ROUTE_KERNEL] = "kernel"};

// Fills in the fields of a route of the kernel.
static void kernel_route_view(struct routes_view *v, const struct control *c, const struct route *r)
{
	char text[ROUTE_PROTOCOL_TEXT_MAX];
	struct followed_route of;

	v->failed = UINT64_MAX; // no metric: the table may have a million of these
	if (!route_follow_find(&of, c, &r->to))
		return;
	snprintf(v->protocol, sizeof(v->protocol), "%s", route_protocol_format(text, of.protocol));
	if (of.unused != NULL)
		v->unused = of.unused;
	if (v->port[0] == '\0')
		snprintf(v->port, sizeof(v->port), "%s", of.link);
}

bool collect_routes(void *view, const struct control *c, unsigned int i)
{
	static const char *const kind[] = {
		[NEXTHOP_CONNECTED] = "connected",
		[NEXTHOP_GATEWAY] = "gateway",
		[NEXTHOP_TUNNEL] = "tunnel",
		[NEXTHOP_LOCAL] = "local",
		[NEXTHOP_BLACKHOLE] = "blackhole",
		[NEXTHOP_UNREACHABLE] = "unreachable",
		[NEXTHOP_PROHIBIT] = "prohibit",
		[NEXTHOP_NONE] = "none",
		[NEXTHOP_NOT_UNICAST] = "never",
	};
	const struct snapshot *s = c->snapshot;
	struct routes_view *v = view;

	if (i >= route_count(s->routes))
		return false;

	const struct route *r = route_at(s->routes, i), *used = route_used(s->routes, r);
	const struct nexthop *nh = &r->nexthop;

	*v = (struct routes_view){
		.to = r->to,
		.kind = kind[nh->kind],
		.owner = owners[r->owner],
		.unused = "-",
		.failed = UINT64_MAX,
	};
	if (nexthop_leads_on(nh))
		snprintf(v->port, sizeof(v->port), "%s", s->iface[nh->iface].name);
	if (nh->kind == NEXTHOP_GATEWAY) {
		ip_addr_format(v->via, &nh->gateway);
		v->failed = neigh_failed(c->neigh, nh->iface, &nh->gateway);
	}
	if (!ip_addr_is_none(&r->from))
		ip_addr_format(v->source, &r->from);
	if (r->owner == ROUTE_KERNEL)
		kernel_route_view(v, c, r);
	if (route_is_skipped(r))
		v->unused = "tunnel_down";
	else if (used != r)
		v->unused = owners[used->owner];
	return true;
}

bool collect_kernel(void *view, const struct control *c, unsigned int i)
{
	const struct route_mirror_stats s = route_follow_stats();
	struct kernel_view *v = view;

	*v = (struct kernel_view){.routes = s.routes,
		.over = s.over,
		.messages = s.messages,
		.losses = s.losses,
		.dumps = s.dumps};
	for (unsigned int k = 1; k < MIRROR_UNUSED_REASONS; k++) {
		v->by_reason[k] = s.unused[k];
		v->unused += s.unused[k];
	}
	if (c->conf->kernel_table == UINT32_MAX)
		snprintf(v->table, sizeof(v->table), "main");
	else
		snprintf(v->table, sizeof(v->table), "%u", c->conf->kernel_table);
	return i == 0 && c->conf->kernel_table != 0;
}
