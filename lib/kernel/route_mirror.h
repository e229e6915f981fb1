// SPDX-License-Identifier: BSD-3-Clause
// Follows the routes of a table of the kernel, whoever makes them: its owner is called whenever a
// prefix has another path. Messages of the kernel may be lost, and it sends none about some
// changes: after each doubt, and now and then without one, all routes are compared with a dump. A
// call does a bounded amount of work. Control thread.
#pragma once

#include "mirror_store.h"

struct route_mirror_settings {
	uint32_t table;          // RT_TABLE_MAIN
	bool protocol[256];      // to be followed, RTPROT_*
	unsigned int routes_max; // further ones are counted
	int receive_buffer;      // octets, for messages that have not been read
};

struct route_mirror_stats {
	uint64_t messages, losses; // losses: how often messages were lost or malformed
	uint64_t dumps;            // that ended; since the first one the owner knows all routes
	unsigned int routes, links, objects;
	unsigned int over;                          // routes that the kernel has beyond the limit
	unsigned int unused[MIRROR_UNUSED_REASONS]; // of the routes
};

struct route_mirror;

// Opens the sockets, and begins a dump at the next tick. *m is NULL after a failure. changed must
// not call the mirror. Returns 0 or -errno.
int route_mirror_open(struct route_mirror **m, const struct route_mirror_settings *settings,
	mirror_changed *changed, void *arg);

// NULL is allowed. The owner is not called.
void route_mirror_close(struct route_mirror *m);

// Reads messages and calls the owner. now_ms: of a clock that never steps. Returns whether there is
// more to do at once. Call it every 100 ms at least.
bool route_mirror_tick(struct route_mirror *m, uint64_t now_ms);

// Follows other routes from now on, but for the receive buffer: after the next dump, which begins
// soon, the owner knows them alone.
void route_mirror_set(
	struct route_mirror *m, const struct route_mirror_settings *settings, uint64_t now_ms);

// Lets the next ticks call the owner for all prefixes: it may use the paths differently now.
void route_mirror_again(struct route_mirror *m);

// The route to a prefix that the kernel uses at present. NULL: none.
const struct mirror_route *route_mirror_find(struct route_mirror *m, const struct ip_prefix *to);

// Calls each with every prefix that has a path.
void route_mirror_each(const struct route_mirror *m, mirror_changed *each, void *arg);

// The name of an interface by the kernel's number; NULL: there is none.
const char *route_mirror_link_name(const struct route_mirror *m, uint32_t link);

struct route_mirror_stats route_mirror_stats(const struct route_mirror *m);
