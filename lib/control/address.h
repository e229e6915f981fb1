// SPDX-License-Identifier: BSD-3-Clause
// Own IPv6 addresses: checked for duplicates when the link comes up (RFC 4862 5.4), and not used,
// by SAs either, before they are assigned. And the multicast groups that ports listen to for them
// (RFC 4291 2.8): the devices receive their frames, and MLD reports them to the links
// (lib/neigh/listener.h), also those of tentative addresses (RFC 4862 5.4.2). Reports are sent as
// they are: neither policies nor SAs apply to them. Control thread.
#pragma once

#include "control.h"

// Makes c->dad and c->listener. Returns 0 or -ENOMEM.
int address_init(struct control *c);

// Call before the snapshot replaces an old one (NULL: none): its new addresses are tentative from
// now on, except addresses that another program gave a port, and those of groups (group.h).
void address_add(struct control *c, const struct conf *conf, const struct snapshot *s,
	const struct snapshot *old);

// After that: logs which addresses are new or gone, announces the new ones, and leaves the groups
// of the others.
void address_follow(struct control *c, const struct snapshot *old);

// Why an SA must not use its own address: DROP_STANDBY, another gateway answers for it; or
// DROP_ADDR_UNUSABLE, it may be a duplicate, or in tunnel mode no port of the snapshot has it (a
// host behind the gateway may have that of transport mode). DROP_NONE: it may.
enum drop address_check(const struct control *c, const struct snapshot *s, const struct sa *sa);

// Before workers run: starts the check of the snapshot's addresses, and joins their groups.
void address_start(struct control *c);

// The link of a port has come up, maybe to another switch: checks and reports once more.
void address_restart(struct control *c, uint16_t port);

// Records in the SAs of a snapshot whether their own addresses may be used. Call it before workers
// see the snapshot, with the gateway's lock.
void address_apply(const struct control *c, const struct snapshot *s);

// A router asks for reports: EVENT_MLD_QUERY.
void address_query(struct control *c, const struct event *e, uint64_t now_ms);
