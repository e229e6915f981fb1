// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_iface.h"
#include "host_route.h"
#include "log.h"
#include "netlink.h"

// The kernel's own are below. FRR takes the upper octet as the distance: it prefers routes that it
// learns.
#define ROUTE_METRIC (254u << 24 | 10000)

// Sorted by destination.
struct routes {
	struct host_route *of;
	unsigned int n;
};

static struct routes kernel; // that it was given last

static int compare(const void *a, const void *b)
{
	const struct host_route *x = a, *y = b;
	int by_addr = memcmp(&x->to.addr, &y->to.addr, sizeof(x->to.addr));

	return by_addr != 0 ? by_addr : x->to.len - y->to.len;
}

static const struct host_route *find(const struct routes *routes, const struct host_route *r)
{
	const struct host_route *found =
		routes->n > 0 ? bsearch(r, routes->of, routes->n, sizeof(*r), compare) : NULL;
	bool same = found != NULL && ip_addr_equal(&found->via, &r->via) &&
		    strcmp(found->dev, r->dev) == 0 && ip_addr_equal(&found->source, &r->source);

	return same ? found : NULL;
}

static void next_hop_add(struct netlink_request *r, bool v4, const struct ip_addr *via)
{
	struct {
		uint16_t family;
		uint8_t addr[sizeof(via->b)];
	} other = {.family = AF_INET6}; // as struct rtvia

	if (v4 == ip_addr_is_v4(via)) {
		netlink_add_addr(r, RTA_GATEWAY, via);
		return;
	}
	memcpy(other.addr, via->b, sizeof(other.addr));
	netlink_add(r, RTA_VIA, &other, sizeof(other));
}

static int route_request(uint16_t type, uint16_t flags, const struct host_route *route)
{
	bool v4 = ip_addr_is_v4(&route->to.addr), on_link = ip_addr_is_none(&route->via);
	struct netlink_request r;

	netlink_begin(&r, type, flags, sizeof(r.route));
	r.route.rtm_family = v4 ? AF_INET : AF_INET6;
	r.route.rtm_dst_len = (uint8_t)(route->to.len - (v4 ? IP_V4_BITS : 0));
	r.route.rtm_table = RT_TABLE_MAIN;
	r.route.rtm_protocol = HOST_ROUTE_PROTOCOL;
	r.route.rtm_scope = on_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	r.route.rtm_type = RTN_UNICAST;
	r.route.rtm_flags = on_link ? 0 : RTNH_F_ONLINK; // the gateway has checked that
	netlink_add_addr(&r, RTA_DST, &route->to.addr);
	if (!on_link)
		next_hop_add(&r, v4, &route->via);
	netlink_add_u32(&r, RTA_OIF, host_iface_index(route->dev));
	netlink_add_u32(&r, RTA_PRIORITY, ROUTE_METRIC);
	if (!ip_addr_is_none(&route->source))
		netlink_add_addr(&r, RTA_PREFSRC, &route->source);
	return netlink_send(&r);
}

// Also one that the kernel had: somebody may have removed it, or set the interface down. A refusal
// that was logged is not logged again.
static void route_add(struct host_route *route)
{
	const struct host_route *before = find(&kernel, route);
	int rc = route_request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route);
	char text[IP_PREFIX_STRLEN];

	if (rc == -EEXIST && before != NULL && !before->refused)
		rc = 0;
	if (rc < 0 && (before == NULL || !before->refused))
		log_warn("%s:%u: the kernel does not accept the route to %s: %s", route->where.file,
			route->where.line, ip_prefix_format(text, &route->to), strerror(-rc));
	route->refused = rc < 0;
}

static void note(void *arg, const struct host_route *route)
{
	struct routes *routes = arg;

	routes->of[routes->n++] = *route;
}

void host_routes_set(const struct conf *conf)
{
	struct routes wanted = {
		.of = calloc(conf->n_routes + conf->n_policies + 1, sizeof(wanted.of[0]))};

	if (wanted.of == NULL) {
		log_warn("out of memory for the kernel's routes");
		return;
	}
	host_routes_each(conf, note, &wanted);
	qsort(wanted.of, wanted.n, sizeof(wanted.of[0]), compare);
	// One that somebody has removed is not missed.
	for (unsigned int i = 0; i < kernel.n; i++)
		if (!kernel.of[i].refused && find(&wanted, &kernel.of[i]) == NULL)
			route_request(RTM_DELROUTE, 0, &kernel.of[i]);
	for (unsigned int i = 0; i < wanted.n; i++)
		route_add(&wanted.of[i]);
	free(kernel.of);
	kernel = wanted;
}
