// SPDX-License-Identifier: BSD-3-Clause
// Networks whose packets routers are to send here: the addresses of groups and the remote networks
// of their tunnels. The kernel gets a route to each (lib/kernel/announced_route.h), which a routing
// daemon announces. Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Whether the networks of a group are announced: the only place that decides it. Those of one that
// is leaving are not any more, those of one that is expected are already.
bool group_is_announced(const struct control *c, const struct owned_group *g);

// Makes the kernel's routes follow the groups at once: a group is leaving, or becomes standby, and
// is not silent yet. It does not wait for the kernel.
void announced_change(struct control *c);

// The same when it is due: each second, as SAs and policies of IKE come and go, and when a group is
// active or expected since the last call. Call it every 100 ms or so.
void announced_tick(struct control *c, uint64_t now_ms);

// Takes all routes back: the daemon stops.
void announced_stop(struct control *c);
