// SPDX-License-Identifier: BSD-3-Clause
// Multicast groups that ports listen to for their IPv6 addresses (RFC 4291 2.8): their devices take
// in the frames, and their links are told by MLD (lib/neigh/listener.h), also of groups of
// addresses that are still tried out (RFC 4862 5.4.2). What is told goes to the link as it is:
// neither policies nor SAs see it. Control thread.
#pragma once

#include "gateway.h"

// Makes g->listener. Returns 0 or -ENOMEM.
int groups_init(struct gateway *g);

// Before workers run: joins the groups of a port. Without IPv6 addresses it has none.
void groups_start(struct gateway *g, uint16_t port, const struct snapshot_port *s);

// An own IPv6 address may be used from now on. From the first of them that is link-local, the
// groups are told of again.
void groups_addr_assigned(struct gateway *g, uint16_t port, const struct ip_addr *addr);

// A router asks: EVENT_MLD_QUERY.
void groups_asked(struct gateway *g, const struct event *e, uint64_t now_ms);
