// SPDX-License-Identifier: BSD-3-Clause
// Removes learnt neighbours on request.
#include <stdio.h>

#include "collect.h"
#include "telemetry_filter.h"
#include "telemetry_pages.h"

#define AT_ONCE 1024 // neighbours, with the gateway's lock

// Removes those of n neighbours that match and are not static. Returns how many.
static unsigned int some_remove(const struct control *c, const struct view_filter *f,
	const struct neigh_view neighbours[], unsigned int n)
{
	struct neighbour_view v;
	unsigned int removed = 0;

	for (unsigned int i = 0; i < n; i++) {
		collect_neighbour_of(&v, c, &neighbours[i]);
		removed += filter_view_matches(f, &v) &&
			   neigh_remove(c->neigh, neighbours[i].port, &neighbours[i].addr);
	}
	return removed;
}

bool neighbour_flush_filter(void *gateway, const char *filter, char *text, size_t size)
{
	static struct neigh_view neighbours[AT_ONCE];
	struct control *c = &((struct gateway *)gateway)->control;
	struct view_filter f;
	unsigned int n, removed, kept = 0, sum = 0;

	if (!filter_view_parse(&f, "neighbours", filter, text, size))
		return false;
	do {
		pthread_mutex_lock(&c->lock);
		n = neigh_list(c->neigh, neighbours, AT_ONCE, kept, gateway_now_ms());
		removed = some_remove(c, &f, neighbours, n);
		pthread_mutex_unlock(&c->lock);
		kept += n - removed;
		sum += removed;
	} while (n == AT_ONCE);
	snprintf(text, size, "neighbours removed: %u", sum);
	return true;
}
