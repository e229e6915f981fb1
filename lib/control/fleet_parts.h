// SPDX-License-Identifier: BSD-3-Clause
// A fleet, for its connection to etcd (fleet_life.c) and its groups (fleet_group.c).
#pragma once

#include "etcd.h"
#include "etcd_answer.h"
#include "fleet.h"

#define FLEET_MEMBERS_MAX 256
#define FLEET_KEY_MAX     160

enum fleet_question {
	FLEET_NOTHING,
	FLEET_GRANT,
	FLEET_REGISTER,
	FLEET_KEEP,
	FLEET_READ,
	FLEET_REPLACE,
};

struct fleet {
	struct etcd *etcd;
	enum fleet_question asked;
	uint64_t asked_ms;
	int64_t lease;        // of this process; 0: it has none
	bool registered;      // the key of this member has the lease
	bool named_twice;     // another process has the name
	uint64_t keep_ms;     // when the lease is renewed next,
	uint64_t read_ms;     // and keys are read next
	uint64_t try_ms;      // after a failure, nothing before
	int64_t revision;     // of etcd, as of the last read; 0: all keys are read
	int64_t n_keys;       // of groups, as of the last read
	uint64_t answered_ms; // when keys were read last; 0: never
	uint64_t quiet_ms;    // no group of others is taken before
	unsigned int next;    // group that is looked at first
	char error[ETCD_ERROR_MAX];
	bool is_up; // as of the last event
	struct fleet_member member[FLEET_MEMBERS_MAX];
	unsigned int n_members;
};

void fleet_group_key(const struct control *c, char key[FLEET_KEY_MAX], const char *name);
void fleet_member_key(const struct control *c, char key[FLEET_KEY_MAX], const char *name);

// Takes a value of a group as etcd has it; NULL: it has none.
void fleet_group_read(struct control *c, struct owned_group *g, const struct etcd_key *key);

// A group becomes active or standby here, as its owner has changed.
void fleet_group_follow(struct control *c, struct owned_group *g, uint64_t now_ms);

// Whether the group is to be replaced in etcd.
bool fleet_group_wants(struct control *c, struct owned_group *g, uint64_t now_ms);

// The request for that, to be freed with free(). stop: this member gives it up. NULL: there is no
// memory.
char *fleet_group_request(struct control *c, struct owned_group *g, bool stop);

// Whether this process owns it, as far as is known.
bool fleet_group_is_own(const struct fleet *f, const struct owned_group *g);
