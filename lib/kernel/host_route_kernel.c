// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "host_route.h"
#include "log.h"
#include "route_request.h"

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

	return ip_prefix_compare(&x->to, &y->to);
}

static const struct host_route *find(const struct routes *routes, const struct host_route *r)
{
	const struct host_route *found =
		routes->n > 0 ? bsearch(r, routes->of, routes->n, sizeof(*r), compare) : NULL;

	return found != NULL && host_route_is_same(found, r) ? found : NULL;
}

static int request(uint16_t type, uint16_t flags, const struct host_route *route)
{
	return route_request(type, flags, route, ROUTE_PROTOCOL_HOST, ROUTE_METRIC);
}

// Also one that the kernel had: somebody may have removed it, or set the interface down. A refusal
// that was logged is not logged again.
static void route_add(struct host_route *route)
{
	const struct host_route *before = find(&kernel, route);
	int rc = request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route);
	char text[IP_PREFIX_STRLEN];

	if (rc == -EEXIST && before != NULL && !before->refused)
		rc = 0;
	if (rc < 0 && (before == NULL || !before->refused))
		log_warn("%s:%u: the kernel does not accept the route to %s: %s", route->where.file,
			route->where.line, ip_prefix_format(text, &route->to), strerror(-rc));
	route->refused = rc < 0;
}

static void count(void *arg, const struct host_route *route)
{
	(void)route;
	(*(unsigned int *)arg)++;
}

static void note(void *arg, const struct host_route *route)
{
	struct routes *routes = arg;

	routes->of[routes->n++] = *route;
}

void host_routes_set(const struct conf *conf)
{
	struct routes wanted = {.n = 0};
	unsigned int n = 0;

	host_routes_each(conf, count, &n);
	wanted.of = calloc(n + 1, sizeof(wanted.of[0]));
	if (wanted.of == NULL) {
		log_warn("out of memory for the kernel's routes");
		return;
	}
	host_routes_each(conf, note, &wanted);
	qsort(wanted.of, wanted.n, sizeof(wanted.of[0]), compare);
	// One that somebody has removed is not missed.
	for (unsigned int i = 0; i < kernel.n; i++)
		if (!kernel.of[i].refused && find(&wanted, &kernel.of[i]) == NULL)
			request(RTM_DELROUTE, 0, &kernel.of[i]);
	for (unsigned int i = 0; i < wanted.n; i++)
		route_add(&wanted.of[i]);
	free(kernel.of);
	kernel = wanted;
}

const struct host_route *host_route_given(const struct ip_prefix *to)
{
	const struct host_route key = {.to = *to};
	const struct host_route *found =
		kernel.n > 0 ? bsearch(&key, kernel.of, kernel.n, sizeof(key), compare) : NULL;

	return found != NULL && !found->refused ? found : NULL;
}
