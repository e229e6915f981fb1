// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "collect.h"
#include "hop_group.h"

static const char *const owners[] = {[ROUTE_OWN] = "own",
	[ROUTE_NETWORK] = "port",
	[ROUTE_FILE] = "file",
	[ROUTE_KERNEL] = "kernel"};

// Adds a word to those in text, with a comma between them, as far as there is room.
static void word_add(char text[ROUTE_HOPS_STRLEN], const char *word)
{
	size_t len = strlen(text);

	if (len + strlen(word) + 1 < ROUTE_HOPS_STRLEN)
		snprintf(text + len, ROUTE_HOPS_STRLEN - len, "%s%s", len > 0 ? "," : "", word);
}

// A tunnel of the configuration before has none, until its route is gone, too.
static const char *iface_name(const struct snapshot *s, const struct nexthop *nh)
{
	return s->iface[nh->iface].name != NULL ? s->iface[nh->iface].name : "";
}

static void hops_view(struct routes_view *v, const struct snapshot *s, const struct hop_group *g)
{
	for (const struct hop *h = g->hop; h < g->hop + g->n; h++) {
		char via[IP_ADDR_STRLEN] = "-", weight[16];

		if (h->nexthop.kind == NEXTHOP_GATEWAY)
			ip_addr_format(via, &h->nexthop.gateway);
		snprintf(weight, sizeof(weight), "%u", h->weight);
		word_add(v->via, via);
		word_add(v->port, iface_name(s, &h->nexthop));
		word_add(v->weight, weight);
	}
}

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
		[NEXTHOP_SEVERAL] = "several",
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
	if (nh->kind == NEXTHOP_SEVERAL)
		hops_view(v, s, nexthop_group(nh));
	else if (nexthop_leads_on(nh))
		snprintf(v->port, sizeof(v->port), "%s", iface_name(s, nh));
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
