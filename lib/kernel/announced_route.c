// SPDX-License-Identifier: BSD-3-Clause
#include "announced_route.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/capability.h>
#include <linux/rtnetlink.h>

#include "capability.h"
#include "host_iface.h"
#include "log.h"
#include "route_request.h"

struct announced_route {
	struct host_route route;
	bool present; // the kernel has it, or one of the same kind
};

// In order of their destinations.
struct routes {
	struct announced_route *of;
	unsigned int n;
};

static struct {
	pthread_mutex_t lock;
	struct ip_prefix *to;
	unsigned int n;
	bool fresh; // the other thread has not taken them yet
} wanted = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Of the thread that asks the kernel.
static struct ip_prefix *goal; // the networks that were wanted last
static unsigned int n_goal;
static struct routes given; // as the kernel was given them last
static uint32_t metric;     // with which

int announced_routes_check(const struct conf *conf)
{
	const struct conf_where where = conf_where_of(conf, "announce");

	if (conf->announce_metric == 0 ||
		(capabilities_get().permitted & 1ull << CAP_NET_ADMIN) != 0)
		return 0;
	log_error("%s:%u: announce: cannot change the kernel's routes: run culvertd as root, or "
		  "with the capability CAP_NET_ADMIN",
		where.file, where.line);
	return -EPERM;
}

void announced_routes_want(const struct ip_prefix to[], unsigned int n)
{
	struct ip_prefix *copy = malloc((n + 1) * sizeof(copy[0]));

	if (copy == NULL) {
		log_warn("out of memory for routes that are announced");
		return;
	}
	if (n > 0)
		memcpy(copy, to, n * sizeof(copy[0]));
	pthread_mutex_lock(&wanted.lock);
	free(wanted.to);
	wanted.to = copy;
	wanted.n = n;
	wanted.fresh = true;
	pthread_mutex_unlock(&wanted.lock);
}

static int compare_route(const void *to, const void *route)
{
	return ip_prefix_compare(to, &((const struct announced_route *)route)->route.to);
}

static int compare_goal(const void *to, const void *other)
{
	return ip_prefix_compare(to, other);
}

static struct announced_route *find(const struct routes *routes, const struct ip_prefix *to)
{
	return routes->n > 0
		       ? bsearch(to, routes->of, routes->n, sizeof(routes->of[0]), compare_route)
		       : NULL;
}

static int request(uint16_t type, uint16_t flags, const struct host_route *route)
{
	return route_request(type, flags, route, ROUTE_PROTOCOL_ANNOUNCED, metric);
}

static void goal_take(void)
{
	pthread_mutex_lock(&wanted.lock);
	if (wanted.fresh) {
		free(goal);
		goal = wanted.to;
		n_goal = wanted.n;
		wanted.to = NULL;
		wanted.fresh = false;
	}
	pthread_mutex_unlock(&wanted.lock);
}

static bool is_goal(const struct ip_prefix *to)
{
	return n_goal > 0 && bsearch(to, goal, n_goal, sizeof(goal[0]), compare_goal) != NULL;
}

void announced_routes_take(void)
{
	unsigned int n = 0;

	goal_take();
	for (unsigned int i = 0; i < given.n; i++)
		if (is_goal(&given.of[i].route.to))
			given.of[n++] = given.of[i];
		else if (!given.of[i].route.refused)
			request(RTM_DELROUTE, 0, &given.of[i].route);
	given.n = n;
}

// The host's route to the same destination, if its interface is there.
static void lend(void *arg, const struct host_route *route)
{
	struct announced_route *found = find(arg, &route->to);

	if (found == NULL || host_iface_index(route->dev) == 0)
		return;
	found->route = *route;
	found->route.refused = false;
}

// False: there is no memory.
static bool routes_make(struct routes *routes, const struct conf *conf)
{
	routes->of = calloc(n_goal + 1, sizeof(routes->of[0]));
	routes->n = 0;
	if (routes->of == NULL)
		return false;
	for (unsigned int i = 0; i < n_goal; i++)
		routes->of[routes->n++].route = (struct host_route){
			.to = goal[i], .where = conf_where_of(conf, "announce")};
	if (conf_has_host(conf))
		host_routes_each(conf, lend, routes);
	return true;
}

static bool is_blackhole(const struct host_route *route)
{
	return route->dev[0] == '\0';
}

// Leftovers of a former daemon are blackholes: its interfaces took other routes with them.
static void compare_seen(void *arg, const struct route_seen *seen)
{
	const struct host_route stray = {.to = seen->to};
	struct announced_route *found = find(arg, &seen->to);

	if (found != NULL && is_blackhole(&found->route) == seen->blackhole)
		found->present = true;
	else if (found == NULL || seen->blackhole)
		request(RTM_DELROUTE, 0, &stray);
}

// A refusal that was logged is not logged again.
static void route_give(struct announced_route *r)
{
	const struct announced_route *before = find(&given, &r->route.to);
	char text[IP_PREFIX_STRLEN];
	int rc;

	if (r->present &&
		(is_blackhole(&r->route) ||
			(before != NULL && host_route_is_same(&before->route, &r->route))))
		return;
	if (before != NULL && !before->route.refused)
		request(RTM_DELROUTE, 0, &before->route);
	rc = request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &r->route);
	if (rc < 0 && (before == NULL || !before->route.refused))
		log_warn("%s:%u: the kernel does not accept the route to %s that is to be "
			 "announced: %s",
			r->route.where.file, r->route.where.line,
			ip_prefix_format(text, &r->route.to), strerror(-rc));
	r->route.refused = rc < 0;
}

void announced_routes_give(const struct conf *conf)
{
	struct routes routes;

	if (goal == NULL) // not yet: leftovers may be wanted
		return;
	metric = conf->announce_metric;
	if (!routes_make(&routes, conf)) {
		log_warn("out of memory for routes that are announced");
		return;
	}
	if (route_dump(AF_INET, ROUTE_PROTOCOL_ANNOUNCED, metric, compare_seen, &routes) < 0 ||
		route_dump(AF_INET6, ROUTE_PROTOCOL_ANNOUNCED, metric, compare_seen, &routes) < 0) {
		free(routes.of); // asked again soon
		return;
	}
	for (unsigned int i = 0; i < routes.n; i++)
		route_give(&routes.of[i]);
	free(given.of);
	given = routes;
}
