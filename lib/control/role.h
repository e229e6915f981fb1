// SPDX-License-Identifier: BSD-3-Clause
// Changes of the roles of groups (group.h). Which member is active is decided elsewhere, by VRRP
// (RFC 9568) for example, and set by command. Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Gives the group of this name a role. False: there is no such group. An active one carries packets
// when this returns; its addresses are announced at once, also if it was active already, and some
// more times by roles_tick().
bool role_set(struct control *c, const char *name, enum conf_role role, uint64_t now_ms);

// A standby group is about to become active here: until role_set(), at most until until_ms of
// io->now_ms(), stations are to send here. Its addresses are announced, also some more times by
// roles_tick(), and answered for; nothing else is sent from them. Workers hold packets for or of
// the group, and evaluate them again when it is over: see hold.h. role_set() ends it, also with the
// role that the group has. Again with a later time: it lasts longer. False: there is no such group,
// or it is active.
bool role_expect(struct control *c, const char *name, uint64_t until_ms);

extern const char role_drained[]; // as owned_group.drain: it can

// An active group is to be taken over by the other gateway of the pair as soon as that can: lists
// and the event group_drained show when. It stays active until a command changes the roles.
// role_set() ends it, also with the role that the group has. False: there is no such group, it is
// not active, or no channel.
bool role_drain(struct control *c, const char *name, uint64_t now_ms);

// Makes all active groups standby, as role_set() does, but for flows in clear.
void roles_give_up(struct control *c, uint64_t now_ms);

// Has flows in clear decided again, by the present roles. False: there is no memory, or another
// snapshot is being made, and they keep their decisions so far.
bool roles_decide_flows(struct control *c);

// Announces the addresses of an active group to which this one belongs, which another station has
// announced: stations that believed it would go on sending to a gateway that is a standby by now.
// At most once in ten seconds. No effect for other addresses, nor for a group that is leaving.
void role_defend(struct control *c, const struct ip_addr *addr, uint64_t now_ms);

// Announces addresses again where that is due, ends the picking up of connections after a takeover,
// the expectation of a group that has not become active, and one of two active gateways, if that
// lasts. Call it every 100 ms or so.
void roles_tick(struct control *c, uint64_t now_ms);
