// SPDX-License-Identifier: BSD-3-Clause
// Whether packets are sent into a tunnel that routes lead into. The result is one store, the SA of
// the tunnel or NULL in struct objects, which all routes and flows of the tunnel see. Control
// thread, with the gateway's lock.
#pragma once

#include "control.h"

// The tunnel of a policy, by its place; NULL: it has none.
struct tunnel *tunnel_of_policy(const struct tunnels *t, uint32_t policy);

// The settings of the pings of a tunnel; without an address there are none.
const struct conf_probe *tunnel_probe(const struct control *c, const struct tunnel *t);

// For how long nothing is received from a peer before its tunnel is silent: long enough for three
// probes without an answer.
uint32_t tunnel_patience_ms(const struct conf_probe *p);

// Finds whether the tunnel is down, and why, and sets its SA. Posts an event if that has changed.
void tunnel_state_check(
	struct control *c, struct tunnel *t, const struct spd_policy *p, uint64_t now_ms);

// The newest outbound SA of IKE of a group is another one, or there is none, NULL.
void tunnel_state_sender(struct control *c, uint64_t group, struct sa_out *sa);

// Takes the tunnel with this name down, or lets it be up again unless there is another reason. A
// reload keeps that, a restart does not. False: no tunnel that routes lead into has the name.
bool tunnel_state_order(struct control *c, const char *name, bool down, uint64_t now_ms);
