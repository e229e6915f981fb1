// SPDX-License-Identifier: BSD-3-Clause
#include "orders.h"

#include <errno.h>
#include <stdio.h>

#include "collect.h"
#include "filter.h"
#include "fleet.h"
#include "frozen.h"
#include "ping.h"
#include "role.h"
#include "tracing.h"
#include "tunnel_state.h"

#define AT_ONCE 1024 // neighbours, with the gateway's lock

static bool flush(struct control *c, const char *filter, char *text, size_t size)
{
	struct flow_filter f;

	if (!filter_parse(&f, c->snapshot, filter, text, size))
		return false;
	if (flow_flush(c->flows, &f) == 0)
		return true;
	snprintf(text, size, "the last flush is not complete, try again in some seconds");
	return false;
}

// Removes those of n neighbours that match and are not static. Returns how many.
static unsigned int some_remove(const struct control *c, const struct view_filter *f,
	const struct neigh_view neighbours[], unsigned int n)
{
	struct neighbours_view v;
	unsigned int removed = 0;

	for (unsigned int i = 0; i < n; i++) {
		collect_neighbour_of(&v, c, &neighbours[i]);
		removed += filter_view_matches(f, &v) &&
			   neigh_remove(c->neigh, neighbours[i].port, &neighbours[i].addr);
	}
	return removed;
}

static bool flush_neighbours(struct control *c, const char *filter, char *text, size_t size)
{
	static struct neigh_view neighbours[AT_ONCE];
	struct view_filter f;
	unsigned int n, removed, kept = 0, sum = 0;

	if (!filter_view_parse(&f, "neighbours", filter, text, size))
		return false;
	do {
		pthread_mutex_lock(&c->lock);
		n = neigh_list(c->neigh, neighbours, AT_ONCE, kept, c->io->now_ms());
		removed = some_remove(c, &f, neighbours, n);
		pthread_mutex_unlock(&c->lock);
		kept += n - removed;
		sum += removed;
	} while (n == AT_ONCE);
	snprintf(text, size, "neighbours removed: %u", sum);
	return true;
}

static bool trace_start(struct control *c, const char *filter, char *text, size_t size)
{
	struct trace_request r;
	int rc;

	if (!filter_trace_parse(&r, c->snapshot, filter, text, size))
		return false;
	pthread_mutex_lock(&c->lock);
	rc = tracing_start(c, &r.filter, r.count);
	pthread_mutex_unlock(&c->lock);
	if (rc == 0)
		snprintf(text, size, "trace %u\n", c->tracing.number);
	else
		snprintf(text, size, "%s",
			rc == -EBUSY ? "another trace is on, only one at a time" : "out of memory");
	return rc == 0;
}

static bool trace_stop(struct control *c, const char *filter, char *text, size_t size)
{
	unsigned int number;

	if (!filter_trace_number_parse(&number, filter, text, size))
		return false;
	pthread_mutex_lock(&c->lock);
	if (number == c->tracing.number)
		tracing_stop(c);
	pthread_mutex_unlock(&c->lock);
	return true;
}

static bool ping(struct control *c, const char *filter, char *text, size_t size)
{
	struct ping_order order;
	uint32_t number;

	if (!filter_ping_parse(&order, c->snapshot, filter, text, size))
		return false;
	pthread_mutex_lock(&c->lock);
	number = ping_send(c, &order, text, size, c->io->now_ms());
	pthread_mutex_unlock(&c->lock);
	if (number != 0)
		snprintf(text, size, "ping %u\n", number);
	return number != 0;
}

static bool tunnel_order(struct control *c, const char *name, bool down, char *text, size_t size)
{
	bool done;

	pthread_mutex_lock(&c->lock);
	done = tunnel_state_order(c, name, down, c->io->now_ms());
	pthread_mutex_unlock(&c->lock);
	if (!done)
		snprintf(text, size, "no tunnel of the list tunnels has the name \"%s\"", name);
	return done;
}

static bool tunnel_down(struct control *c, const char *name, char *text, size_t size)
{
	return tunnel_order(c, name, true, text, size);
}

static bool tunnel_up(struct control *c, const char *name, char *text, size_t size)
{
	return tunnel_order(c, name, false, text, size);
}

static bool group_order(
	struct control *c, const char *name, enum conf_role role, char *text, size_t size)
{
	const char *why = "there is none of this name";
	bool done;

	frozen_renew(c); // with ten thousands of SAs it takes a while
	pthread_mutex_lock(&c->lock);
	done = c->fleet != NULL ? fleet_order(c, name, role, &why)
				: role_set(c, name, role, c->io->now_ms());
	if (!done)
		snprintf(text, size, "group \"%s\": %s", name, why);
	pthread_mutex_unlock(&c->lock);
	return done;
}

static bool group_active(struct control *c, const char *name, char *text, size_t size)
{
	return group_order(c, name, CONF_ACTIVE, text, size);
}

static bool group_standby(struct control *c, const char *name, char *text, size_t size)
{
	return group_order(c, name, CONF_STANDBY, text, size);
}

static bool group_drain(struct control *c, const char *name, char *text, size_t size)
{
	const char *why = NULL;
	bool done;

	pthread_mutex_lock(&c->lock);
	done = c->fleet != NULL ? fleet_drain_group(c, name, &why)
				: role_drain(c, name, c->io->now_ms());
	pthread_mutex_unlock(&c->lock);
	if (!done && why != NULL)
		snprintf(text, size, "group \"%s\": %s", name, why);
	else if (!done)
		snprintf(text, size,
			"no active group has the name \"%s\", or there is no channel to another "
			"gateway",
			name);
	return done;
}

static bool drain_order(
	struct control *c, bool (*order)(struct control *c), char *text, size_t size)
{
	bool done;

	pthread_mutex_lock(&c->lock);
	done = order(c);
	pthread_mutex_unlock(&c->lock);
	if (!done)
		snprintf(text, size, "this gateway is of no fleet: culvertctl group NAME drain");
	return done;
}

static bool drains(struct control *c)
{
	return fleet_drain(c, true);
}

static bool serves(struct control *c)
{
	return fleet_drain(c, false);
}

static bool drain(struct control *c, const char *filter, char *text, size_t size)
{
	(void)filter;
	return drain_order(c, drains, text, size);
}

static bool drain_now(struct control *c, const char *filter, char *text, size_t size)
{
	(void)filter;
	return drain_order(c, fleet_drain_now, text, size);
}

static bool drain_off(struct control *c, const char *filter, char *text, size_t size)
{
	(void)filter;
	return drain_order(c, serves, text, size);
}

const struct request_at_once orders[] = {
	{"flush", flush, false},
	{"flush-neighbours", flush_neighbours, false},
	{"trace", trace_start, false},
	{"trace-stop", trace_stop, false},
	{"ping", ping, true},
	{"tunnel-down", tunnel_down, false},
	{"tunnel-up", tunnel_up, false},
	{"group-active", group_active, false},
	{"group-standby", group_standby, false},
	{"group-drain", group_drain, false},
	{"drain", drain, false},
	{"drain-now", drain_now, false},
	{"drain-off", drain_off, false},
	{NULL, NULL, false},
};
