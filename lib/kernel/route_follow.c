// SPDX-License-Identifier: BSD-3-Clause
#include "route_follow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "event_log.h"
#include "hop_group.h"
#include "host_iface.h"
#include "kernel_routes.h"
#include "log.h"
#include "route_model.h"

// Octets. While it is more than half full, whoever changes routes yields after each message, with
// the lock that a dump waits for: on a busy machine a replaced next-hop object of many routes would
// take minutes. Messages that it has no room for cost a dump.
#define RECEIVE_BUFFER (1 << 20)
#define RETRY_MS       10000
#define FIT_MS         10000 // that all routes have had room for, until that is an event

static struct {
	struct route_mirror *mirror; // NULL: none are followed
	struct route_mirror_settings settings;
	const struct conf *conf; // is only compared: that next hops were translated for
	unsigned int unplaced;   // routes for which the table had no room
	uint64_t retry_ms;       // when these are tried again
	uint64_t full_ms;        // when there was no room last; 0: there is
} follow;

// --- settings ---

static struct route_mirror_settings settings_of(const struct conf *conf)
{
	struct route_mirror_settings s;

	memset(&s, 0, sizeof(s)); // is compared octet by octet
	s.table = conf->kernel_table == UINT32_MAX ? RT_TABLE_MAIN : conf->kernel_table;
	s.routes_max = conf->kernel_routes_max;
	s.receive_buffer = RECEIVE_BUFFER;
	memset(s.protocol, conf->n_kernel_protocols == 0 && s.table != 0, sizeof(s.protocol));
	s.protocol[RTPROT_KERNEL] = s.protocol[RTPROT_REDIRECT] = false;
	for (unsigned int i = 0; i < conf->n_kernel_protocols; i++)
		s.protocol[conf->kernel_protocols[i]] = true;
	s.protocol[ROUTE_PROTOCOL_HOST] = s.protocol[ROUTE_PROTOCOL_ANNOUNCED] = false; // its own
	return s;
}

// --- next hops ---

// Returns false if the next hop is on no interface of the gateway.
static bool hop_translate(struct nexthop *nh, const struct control *c, const struct ip_prefix *to,
	const struct mirror_hop *hop)
{
	const struct conf *conf = c->conf;
	int host = host_iface_at(hop->link, c->snapshot);
	unsigned int i = (unsigned int)host;

	if (host < 0)
		return false;
	*nh = (struct nexthop){.kind = NEXTHOP_TUNNEL};
	if (i >= PORTS_MAX) {
		nh->iface = c->snapshot->iface[IFACE_HOST(i)].only->iface;
		return true;
	}
	nh->kind = ip_addr_is_none(&hop->gateway) ? NEXTHOP_CONNECTED : NEXTHOP_GATEWAY;
	nh->iface = (uint16_t)i;
	nh->gateway = hop->gateway;
	nh->source = build_source_by(conf, i, &to->addr, &hop->gateway);
	return true;
}

// The next hops of a path that are on interfaces of the gateway. Returns their number.
static unsigned int hops_translate(struct hop hop[MIRROR_HOPS_MAX], const struct control *c,
	const struct ip_prefix *to, const struct mirror_path *path)
{
	unsigned int n = 0;

	for (uint32_t i = 0; path->head.kind == MIRROR_HOPS && i < path->head.n_hops; i++)
		if (hop_translate(&hop[n].nexthop, c, to, &path->hop[i]))
			hop[n++].weight = path->hop[i].weight;
	return n;
}

// Why the gateway uses none of the next hops. NULL: it uses them.
static const char *hops_unused(const struct hop hop[], unsigned int n)
{
	unsigned int tunnels = 0;

	for (unsigned int i = 0; i < n; i++)
		tunnels += hop[i].nexthop.kind == NEXTHOP_TUNNEL;
	if (n == 0)
		return "interface";
	return tunnels > 0 && tunnels < n ? "mixed" : NULL;
}

// The next hop of a path, which the caller releases: NEXTHOP_NONE if the gateway uses none of those
// of the path. Returns 0, or -ENOMEM.
static int path_translate(struct nexthop *nexthop, const struct control *c,
	const struct ip_prefix *to, const struct mirror_path *path)
{
	static const enum nexthop_kind nowhere[] = {[MIRROR_HOPS] = NEXTHOP_NONE,
		[MIRROR_BLACKHOLE] = NEXTHOP_BLACKHOLE,
		[MIRROR_UNREACHABLE] = NEXTHOP_UNREACHABLE,
		[MIRROR_PROHIBIT] = NEXTHOP_PROHIBIT,
		[MIRROR_UNUSED] = NEXTHOP_NONE};
	struct hop hop[MIRROR_HOPS_MAX];
	unsigned int n = hops_translate(hop, c, to, path);

	*nexthop = (struct nexthop){.kind = nowhere[path->head.kind]};
	return hops_unused(hop, n) == NULL
		       ? nexthop_take(nexthop, route_table_groups(c->snapshot->routes), hop, n)
		       : 0;
}

static void route_changed(void *arg, const struct ip_prefix *to, const struct mirror_path *path)
{
	struct control *c = arg;
	struct nexthop nh;
	int rc;

	if (path == NULL || path->head.kind == MIRROR_THROW) {
		kernel_route_delete(c, to);
		return;
	}
	rc = path_translate(&nh, c, to, path);
	if (rc == 0)
		rc = kernel_route_put(c, to, &nh);
	follow.unplaced += rc < 0;
	nexthop_release(&nh, route_table_groups(c->snapshot->routes)); // the route has its own
}

// --- control ---

static int mirror_open(struct control *c)
{
	int rc = route_mirror_open(&follow.mirror, &follow.settings, route_changed, c);

	if (rc == 0)
		return 0;
	log_error("kernel_routes: cannot follow the kernel's routes: %s", strerror(-rc));
	return -EIO;
}

int route_follow_start(struct control *c)
{
	follow.conf = c->conf;
	follow.settings = settings_of(c->conf);
	return c->conf->kernel_table != 0 ? mirror_open(c) : 0;
}

// Lets the next ticks put all routes into the table again.
static void again(uint64_t now_ms)
{
	follow.unplaced = 0;
	follow.retry_ms = now_ms + RETRY_MS;
	route_mirror_again(follow.mirror);
}

// Follows other routes, or the same ones by other next hops, with another configuration.
static void conf_follow(struct control *c, uint64_t now_ms)
{
	const struct route_mirror_settings settings = settings_of(c->conf);
	bool same = memcmp(&settings, &follow.settings, sizeof(settings)) == 0;

	follow.conf = c->conf;
	follow.settings = settings;
	if (follow.mirror == NULL && c->conf->kernel_table != 0)
		mirror_open(c);
	else if (follow.mirror != NULL && same)
		again(now_ms);
	else if (follow.mirror != NULL)
		route_mirror_set(follow.mirror, &settings, now_ms);
}

// Posts when there are more routes than the gateway takes, and when there have been none for long.
static void limit_check(uint64_t now_ms)
{
	unsigned int over = route_follow_stats().over;

	if (over > 0 && follow.full_ms == 0)
		event_post(KERNEL_ROUTES_FULL, EVENT_NUMBER(over),
			EVENT_NUMBER(follow.settings.routes_max));
	if (over > 0)
		follow.full_ms = now_ms;
	if (follow.full_ms == 0 || now_ms - follow.full_ms < FIT_MS)
		return;
	follow.full_ms = 0;
	event_post(KERNEL_ROUTES_FIT, EVENT_NUMBER(follow.settings.routes_max));
}

bool route_follow_tick(struct control *c, uint64_t now_ms)
{
	bool busy;

	if (c->conf != follow.conf)
		conf_follow(c, now_ms);
	if (follow.mirror == NULL)
		return false;
	if (follow.unplaced > 0 && now_ms >= follow.retry_ms)
		again(now_ms);
	busy = route_mirror_tick(follow.mirror, now_ms);
	limit_check(now_ms);
	return busy;
}

void route_follow_stop(void)
{
	route_mirror_close(follow.mirror);
	follow.mirror = NULL;
}

// --- lists ---

static const char *const unused_names[MIRROR_UNUSED_REASONS] = {[MIRROR_USED] = NULL,
	[MIRROR_ENCAP] = "encapsulation",
	[MIRROR_ATTRIBUTE] = "attribute",
	[MIRROR_TYPE] = "type",
	[MIRROR_MANY] = "next_hops",
	[MIRROR_TOS] = "tos",
	[MIRROR_SOURCE] = "source"};

const char *route_follow_reason(unsigned int reason)
{
	return unused_names[reason];
}

struct route_mirror_stats route_follow_stats(void)
{
	struct route_mirror_stats stats = {0};

	if (follow.mirror != NULL)
		stats = route_mirror_stats(follow.mirror);
	stats.over += follow.unplaced;
	return stats;
}

bool route_follow_find(
	struct followed_route *r, const struct control *c, const struct ip_prefix *to)
{
	const struct mirror_route *found =
		follow.mirror != NULL ? route_mirror_find(follow.mirror, to) : NULL;
	struct hop hop[MIRROR_HOPS_MAX];
	const struct mirror_path *path;

	if (found == NULL)
		return false;
	path = found->path->resolved;
	*r = (struct followed_route){
		.protocol = found->protocol, .unused = unused_names[path->head.unused]};
	if (path->head.kind == MIRROR_HOPS)
		r->unused = hops_unused(hop, hops_translate(hop, c, to, path));
	if (path->head.kind == MIRROR_HOPS && path->head.n_hops == 1)
		snprintf(r->link, sizeof(r->link), "%s",
			route_mirror_link_name(follow.mirror, path->hop[0].link));
	return true;
}
