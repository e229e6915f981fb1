// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener (RFC 3810 6, 8.2): tells the link which groups the ports listen to, so that
// switches that look into it bring their frames, those of neighbour discovery among them. Always to
// all sources, which leaves little of the RFC. Control thread.
//
// A query has each group that it is about told once within the time that it gives, or with the next
// tick if that is less, and no group is told more than ten times a second, however many queries
// come. What others report does not silence us in version 1 (RFC 2710 4): a switch wants to hear of
// each of its ports.
#pragma once

#include <stdint.h>

#include "addr.h"
#include "mld.h"

#define LISTENER_GROUPS_MAX 20 // of a port

struct listener;

struct listener_params {
	unsigned int n_ports;
	// Tells a port's link about n groups, in version 1 or 2.
	void (*report)(void *arg, uint16_t port, bool v1, enum mld_record record,
		const struct ip_addr group[], unsigned int n);
	void *arg;
};

// Time is in milliseconds of a clock that never steps.

// Returns NULL with errno ENOMEM.
struct listener *listener_new(const struct listener_params *p);

// NULL is fine.
void listener_free(struct listener *l);

// Adds a group that a port listens to, unless it is known already. Not ff02::1, which all do and
// nobody reports (RFC 3810 6). Returns 0 or -ENOSPC.
int listener_add(struct listener *l, uint16_t port, const struct ip_addr *group);

// Has a port's groups be told of with the next tick, and once more: they are new, or can be told
// from another address now (RFC 3590 4).
void listener_report_all(struct listener *l, uint16_t port);

// The same where other routers may be, about which nothing is known: the link has come up.
void listener_restart(struct listener *l, uint16_t port);

// A router asks.
void listener_query(struct listener *l, uint16_t port, const struct mld_query *q, uint64_t now);

// Says what is due. Call every 100 ms.
void listener_tick(struct listener *l, uint64_t now);

// Says that no port listens any more.
void listener_leave(const struct listener *l);
