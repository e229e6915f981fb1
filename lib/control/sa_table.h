// SPDX-License-Identifier: BSD-3-Clause
// SAs that come and go one by one while workers look them up, whoever makes them: an operator
// (change.h) or an IKE daemon (ike_sas.c). Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// An object that leaves. Others begin with it.
struct object {
	const char *name;
	struct group *group;   // of IKE, or NULL
	struct ike_peer *peer; // whose share it uses; NULL: nobody's
	struct object **chain; // of the group, and of the same kind and direction: the newest first
	struct object *next;   // of the chain: the next older one; then of unlinked ones
	void (*release)(struct control *c, void *object); // of one that leaves
};

// The object is not found any more: has it released after objects_commit() and a grace period.
// redecide: nor may decisions about flows be used any more.
void object_unlink(struct control *c, struct object *o,
	void (*release)(struct control *c, void *object), bool redecide);

// Completes all changes since the last call, at the end of each request: deleted objects are freed
// when no worker uses them any more, and flows are decided again if policies have changed.
void objects_commit(struct control *c);

// Takes the memory without which objects_commit() could fail. False: there is none.
bool objects_reserve(struct control *c);

// Whether workers take packets to its local end for ESP in UDP (RFC 3948), if it receives that.
bool sa_table_takes_udp(const struct control *c, const struct sa_options *o);

// The steps that may fail, for a new SA of the ledger: its record, its address, the path MTU that
// is known. False: there is no memory.
bool sa_table_prepare(struct control *c, struct sa *sa);

// Makes room in the list and the tables. False: there is no memory.
bool sa_table_reserve(struct control *c, unsigned int n_in, unsigned int n_out);

// Workers find it from now on; find it no more. Its place in the list is the caller's.
void sa_table_add(struct control *c, struct sa *sa);
void sa_table_remove(struct control *c, struct sa *sa);

// Frees one that was removed, or never added: no worker can use it. Events of former generations
// are ignored from now on.
void sa_table_release(struct control *c, struct sa *sa);
