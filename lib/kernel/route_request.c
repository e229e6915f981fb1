// SPDX-License-Identifier: BSD-3-Clause
#include "route_request.h"

#include <errno.h>
#include <string.h>

#include "host_iface.h"
#include "netlink.h"

static void gateway_add(struct netlink_request *r, bool v4, const struct ip_addr *via)
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

static void next_hop_add(struct netlink_request *r, bool v4, const struct host_route *route)
{
	bool on_link = ip_addr_is_none(&route->via);

	if (route->dev[0] == '\0') {
		r->route.rtm_type = RTN_BLACKHOLE;
		return;
	}
	r->route.rtm_type = RTN_UNICAST;
	r->route.rtm_scope = on_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	r->route.rtm_flags = on_link ? 0 : RTNH_F_ONLINK; // the gateway has checked that
	if (!on_link)
		gateway_add(r, v4, &route->via);
	netlink_add_u32(r, RTA_OIF, host_iface_index(route->dev));
	if (!ip_addr_is_none(&route->source))
		netlink_add_addr(r, RTA_PREFSRC, &route->source);
}

int route_request(uint16_t type, uint16_t flags, const struct host_route *route, uint8_t protocol,
	uint32_t metric)
{
	bool v4 = ip_addr_is_v4(&route->to.addr);
	struct netlink_request r;

	netlink_begin(&r, type, flags, sizeof(r.route));
	r.route.rtm_family = v4 ? AF_INET : AF_INET6;
	r.route.rtm_dst_len = (uint8_t)(route->to.len - (v4 ? IP_V4_BITS : 0));
	r.route.rtm_table = RT_TABLE_MAIN;
	r.route.rtm_protocol = protocol;
	netlink_add_addr(&r, RTA_DST, &route->to.addr);
	netlink_add_u32(&r, RTA_PRIORITY, metric);
	next_hop_add(&r, v4, route);
	return netlink_send(&r);
}

struct dump {
	uint8_t protocol;
	uint32_t metric;
	void (*each)(void *arg, const struct route_seen *route);
	void *arg;
};

// Kernels before 4.20 send all routes.
static void route_note(void *arg, const struct nlmsghdr *m)
{
	const struct dump *d = arg;
	const struct rtmsg *r = NLMSG_DATA(m);
	struct route_seen seen = {.blackhole = r->rtm_type == RTN_BLACKHOLE};
	const uint32_t *metric = netlink_attribute(m, sizeof(*r), RTA_PRIORITY, sizeof(*metric));

	if (m->nlmsg_type != RTM_NEWROUTE || r->rtm_table != RT_TABLE_MAIN ||
		r->rtm_protocol != d->protocol || metric == NULL || *metric != d->metric ||
		!netlink_attribute_addr(&seen.to.addr, m, sizeof(*r), RTA_DST, r->rtm_family))
		return;
	seen.to.len = (uint8_t)(r->rtm_dst_len + (r->rtm_family == AF_INET ? IP_V4_BITS : 0));
	d->each(d->arg, &seen);
}

int route_dump(uint8_t family, uint8_t protocol, uint32_t metric,
	void (*each)(void *arg, const struct route_seen *route), void *arg)
{
	struct dump d = {protocol, metric, each, arg};
	struct netlink_request r;
	int rc;

	netlink_begin(&r, RTM_GETROUTE, NLM_F_DUMP, sizeof(r.route));
	r.route.rtm_family = family;
	r.route.rtm_protocol = protocol;
	netlink_add_u32(&r, RTA_TABLE, RT_TABLE_MAIN);
	rc = netlink_dump_some(&r, route_note, &d);
	return rc == -ENOENT ? 0 : rc; // without routes there may be no table
}
