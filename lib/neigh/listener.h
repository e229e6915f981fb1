// SPDX-License-Identifier: BSD-3-Clause
// Multicast listener (RFC 3810 6, 8.2): reports the groups of each port on its link, so that
// snooping switches forward their frames, those of neighbour discovery among them. Groups are
// always listened to from all sources, which leaves little of the RFC. Control thread.
//
// After a query, each group that it names is reported once within the time that it allows, or with
// the next tick if that is less, and no group is reported more than ten times a second, however
// many queries are received. In version 1, reports of other listeners do not suppress ours (RFC
// 2710 4): a switch needs one for each of its ports.
#pragma once

#include <stdint.h>

#include "addr.h"
#include "mld.h"

#define LISTENER_GROUPS_MAX 52 // of a port

struct listener;

struct listener_params {
	unsigned int n_ports;
	// Reports n groups on a port, in version 1 or 2.
	void (*report)(void *arg, uint16_t port, bool v1, enum mld_record record,
		const struct ip_addr group[], unsigned int n);
	void *arg;
};

// Time is in milliseconds of a clock that never steps.

// Returns NULL with errno ENOMEM.
struct listener *listener_new(const struct listener_params *p);

// NULL is allowed.
void listener_free(struct listener *l);

// Adds a group that a port listens to, unless it is known already. Not ff02::1, which all do and
// nobody reports (RFC 3810 6). Returns 0 or -ENOSPC.
int listener_add(struct listener *l, uint16_t port, const struct ip_addr *group);

// Leaves the groups of a port that are not among these n.
void listener_keep(struct listener *l, uint16_t port, const struct ip_addr group[], unsigned int n);

// Reports all groups of a port with the next tick, and once more: they are new, or the source
// address of reports has changed (RFC 3590 4).
void listener_report_all(struct listener *l, uint16_t port);

// The same when the link has come up: other routers may be on it, so their version and interval are
// forgotten.
void listener_restart(struct listener *l, uint16_t port);

// A query of a router.
void listener_query(struct listener *l, uint16_t port, const struct mld_query *q, uint64_t now);

// Sends the reports that are due. Call every 100 ms.
void listener_tick(struct listener *l, uint64_t now);

// Reports that no port listens any more.
void listener_leave(const struct listener *l);
