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

#define DUMPS 3 // tries

struct announced_route {
	struct host_route route;
	enum { NONE, BLACKHOLE, HOP } kernel; // the one that the kernel has
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

// The host's route to the same destination, if its interface is there; else a blackhole.
static struct host_route route_to(const struct conf *conf, const struct ip_prefix *to)
{
	const struct host_route *of_host = host_route_given(to);

	if (of_host != NULL && host_iface_index(of_host->dev) != 0)
		return *of_host;
	return (struct host_route){.to = *to, .where = conf_where_of(conf, "announce")};
}

// False: there is no memory.
static bool routes_make(struct routes *routes, const struct conf *conf)
{
	routes->of = calloc(n_goal + 1, sizeof(routes->of[0]));
	routes->n = 0;
	if (routes->of == NULL)
		return false;
	for (unsigned int i = 0; i < n_goal; i++)
		routes->of[routes->n++].route = route_to(conf, &goal[i]);
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

	if (found != NULL)
		found->kernel = seen->blackhole ? BLACKHOLE : HOP;
	else
		request(RTM_DELROUTE, 0, &stray);
}

static bool is_there(const struct announced_route *r, const struct announced_route *before)
{
	if (is_blackhole(&r->route))
		return r->kernel == BLACKHOLE;
	return r->kernel == HOP && before != NULL && host_route_is_same(&before->route, &r->route);
}

// In the place of the one that the kernel has, so that routers notice nothing. If the kernel
// refuses the next hop, as when its interface is down, as a blackhole.
static int route_set(struct announced_route *r)
{
	const uint16_t flags = NLM_F_CREATE | (r->kernel == NONE ? NLM_F_EXCL : NLM_F_REPLACE);
	int rc = request(RTM_NEWROUTE, flags, &r->route);

	if (rc == 0 || is_blackhole(&r->route))
		return rc;
	r->route = (struct host_route){.to = r->route.to, .where = r->route.where};
	return r->kernel == BLACKHOLE ? 0 : request(RTM_NEWROUTE, flags, &r->route);
}

// A refusal that was logged is not logged again.
static void route_give(struct announced_route *r)
{
	const struct announced_route *before = find(&given, &r->route.to);
	char text[IP_PREFIX_STRLEN];
	int rc;

	if (is_there(r, before))
		return;
	rc = route_set(r);
	if (rc < 0 && (before == NULL || !before->route.refused))
		log_warn("%s:%u: the kernel does not accept the route to %s that is to be "
			 "announced: %s",
			r->route.where.file, r->route.where.line,
			ip_prefix_format(text, &r->route.to), strerror(-rc));
	r->route.refused = rc < 0;
}

// Finds the routes that the kernel has. A dump that was not complete is repeated. Returns 0 or
// -errno.
static int compare_kernel(struct routes *routes)
{
	int rc = -EINTR;

	for (unsigned int i = 0; i < DUMPS && rc < 0; i++) {
		rc = route_dump(AF_INET, ROUTE_PROTOCOL_ANNOUNCED, metric, compare_seen, routes);
		if (rc == 0)
			rc = route_dump(
				AF_INET6, ROUTE_PROTOCOL_ANNOUNCED, metric, compare_seen, routes);
	}
	return rc;
}

void announced_routes_give(const struct conf *conf)
{
	struct routes routes;
	int rc;

	if (goal == NULL) // not yet: leftovers may be wanted
		return;
	metric = conf->announce_metric;
	if (!routes_make(&routes, conf)) {
		log_warn("out of memory for routes that are announced");
		return;
	}
	rc = compare_kernel(&routes);
	if (rc < 0) { // all stays as it is; the control thread asks again
		log_warn(
			"cannot compare the kernel's routes that are announced: %s", strerror(-rc));
		free(routes.of);
		return;
	}
	for (unsigned int i = 0; i < routes.n; i++)
		route_give(&routes.of[i]);
	free(given.of);
	given = routes;
}
