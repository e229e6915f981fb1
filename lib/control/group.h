// SPDX-License-Identifier: BSD-3-Clause
// Groups of own addresses that several gateways have, and of which one at a time is active: it
// alone answers for them. All else that belongs to a group follows from its addresses: the SAs and
// IKE packets from or to one, and the packets that are translated to one. A standby group is ready,
// and silent. Here are the roles, and the states of addresses that follow from them; role.h changes
// them. Control thread, with the gateway's lock.
#pragma once

#include <stdio.h>

#include "control.h"

// Whether each address of a running group would keep its role with another configuration, and each
// group of a fleet its owner. A line to errors for each that would not: a reload that made one
// active, silently, would be one gateway too many. On the control thread, right before the
// configuration is used.
bool groups_keep_roles(struct control *c, const struct conf *conf, FILE *errors);

// Before a configuration is used: its groups, of which the ones that exist already keep their
// roles.
void groups_follow(struct control *c, const struct conf *conf);

// After a configuration has come into use: the SAs of each group, of a fleet, whose changes are all
// configurations as a whole.
void groups_sas_follow(struct control *c);

// After roles have changed, or may have: whether all groups are standby, for tunnels without an SA.
void groups_note_standby(struct control *c);

// Applies the role of its group, or that it is expected, to an own address of a port. False: it is
// of none. After groups_follow() with the same configuration.
bool group_address_set(
	struct control *c, const struct conf *conf, uint16_t port, const struct ip_addr *addr);

// The running group of this name; NULL: there is none.
struct owned_group *group_find(struct control *c, const char *name);

// The running group that has the address; NULL: it is of none.
struct owned_group *group_of(struct control *c, const struct ip_addr *addr);

// The other gateway of the pair may have carried the connections of active groups for a while: for
// `takeover` seconds segments that do not fit are believed, as after a takeover.
void groups_continue(struct control *c, uint64_t now_ms);

// Whether a load balancer may send connections here: groups_ready, or the line why not.
extern const char groups_ready[];
const char *groups_state(const struct control *c);

extern const char *const group_role_names[];
