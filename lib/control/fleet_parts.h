// SPDX-License-Identifier: BSD-3-Clause
// A fleet, for its connection to etcd (fleet_life.c), its reads of keys (fleet_read.c), its
// members (fleet_member.c) and its groups (fleet_group.c).
#pragma once

#include "etcd.h"
#include "etcd_answer.h"
#include "fleet.h"
#include "fleet_place.h"

#define FLEET_KEY_MAX    160
#define FLEET_MEMBER_MAX 640 // octets of the value of a member

enum fleet_question {
	FLEET_NOTHING,
	FLEET_GRANT,
	FLEET_REGISTER,
	FLEET_DESCRIBE,
	FLEET_KEEP,
	FLEET_POLL,
	FLEET_READ,
	FLEET_REPLACE,
	FLEET_REVOKE,
};

struct fleet {
	struct etcd *etcd;
	enum fleet_question asked;
	uint64_t asked_ms;
	conf_name writing;                 // the group that FLEET_REPLACE is about
	int64_t lease;                     // of this process; 0: it has none
	bool registered;                   // the key of this member has the lease,
	char described[FLEET_MEMBER_MAX];  // and this value; "": it is not known
	char describing[FLEET_MEMBER_MAX]; // value that etcd was asked to give it last
	bool named_twice;                  // another process is this member
	uint64_t keep_ms;                  // when the lease is renewed next,
	uint64_t end_ms;                   // when it ends at the earliest,
	uint64_t read_ms;                  // and keys, or the revision of etcd, are read next
	uint64_t all_ms;                   // all of them are read next
	uint64_t try_ms;                   // after a failure, nothing before
	int64_t revision;                  // of etcd, as of the last read; 0: all keys are read
	bool stale;                        // etcd has another one by now
	int64_t n_keys[2];                 // of members and of groups, as of the last read
	bool all;                          // the question is for all keys, also unchanged ones,
	bool all_members;                  // or for all of members
	uint64_t answered_ms; // when the last answer with keys was asked for; 0: it is not used
	uint64_t keys_ms;     // the same, also if a transaction has failed since; 0: never
	uint64_t kept_ms;     // the same of the last answer about the lease
	uint64_t quiet_ms;    // no group of others is taken before
	unsigned int next;    // group that is looked at first
	uint64_t checks;      // of values, so far
	char error[ETCD_ERROR_MAX];
	bool is_up; // as of the last event
	struct fleet_member member[FLEET_MEMBERS_MAX];
	unsigned int n_members;
	bool members_changed; // they, their weights or states, since they were looked at last;
	unsigned int n_noted; // how many they were then,
	uint64_t members_ms;  // since when it is that
	bool changed;         // owners have changed since they were looked at last,
	uint64_t changed_ms;  // which was then
	bool drains;          // by a command: this member hands its groups over, and takes none,
	bool drains_now;      // and waits for nobody
	bool drained;         // it has none any more
	// Until when no group moves to a member by itself, which was not ready.
	uint64_t shunned_ms[NUMBER_FLEET_MEMBERS + 1];
	int64_t shunned[NUMBER_FLEET_MEMBERS + 1]; // lease of that process
};

// A key of a kind, "groups" or "members"; the name "": the prefix of all of them.
void fleet_key(
	const struct control *c, char key[FLEET_KEY_MAX], const char *kind, const char *name);
void fleet_group_key(const struct control *c, char key[FLEET_KEY_MAX], const char *name);
void fleet_member_key(const struct control *c, char key[FLEET_KEY_MAX]);

// The name in a key after a prefix; NULL: there is none.
const char *fleet_name_in(const char *key, const char *prefix);

// The next question: whether anything has changed (FLEET_POLL), or for the keys (FLEET_READ). Its
// text is to be freed with free(); NULL: there is no memory.
enum fleet_question fleet_read_question(struct control *c, uint64_t now_ms);
char *fleet_read_text(const struct control *c, enum fleet_question question);

// After a question that has failed: etcd may have another past when it answers again.
void fleet_read_all_soon(struct control *c, uint64_t now_ms);

// Take the answers to these, and to FLEET_REPLACE. Returns 0, or -EBADMSG if it is not used.
void fleet_poll_taken(struct control *c, const struct etcd_result *r, uint64_t now_ms);
int fleet_read_taken(struct control *c, struct etcd_result *r, uint64_t now_ms);
void fleet_replace_taken(struct control *c, struct etcd_result *r);

// Whether the key of this member has the value that it should, as far as is known.
bool fleet_member_is_described(const struct control *c);

// Etcd has done the last request of fleet_member_text().
void fleet_member_described(struct fleet *f);

// The request that makes the key of this member (FLEET_REGISTER), or changes its value
// (FLEET_DESCRIBE), to be freed with free(). NULL: there is no memory.
char *fleet_member_text(struct control *c, enum fleet_question question);

// The member with a lease, which lives, by its number in f->member; FLEET_NONE: there is none.
unsigned int fleet_member_of(const struct fleet *f, int64_t lease);

// Takes the key of a member, which has this name.
void fleet_member_take(struct fleet *f, const char *name, const struct etcd_key *key);

// A member whose key has gone, with its lease, needs another one.
void fleet_member_check(struct fleet *f);

// Takes a value of a group as etcd has it, and key->coded; NULL: it has none.
void fleet_group_read(struct control *c, struct owned_group *g, struct etcd_key *key);

// A group becomes active or standby here, as its owner has changed.
void fleet_group_follow(struct control *c, struct owned_group *g, uint64_t now_ms);

// Whether the group is to be replaced in etcd.
bool fleet_group_wants(struct control *c, struct owned_group *g, uint64_t now_ms);

// The request for that, to be freed with free(). stop: this member gives it up. NULL: there is no
// memory.
char *fleet_group_request(struct control *c, struct owned_group *g, bool stop);

// The group becomes standby here if its lease has ended, without etcd, since another station
// announced an address of it.
void fleet_group_yield(struct control *c, struct owned_group *g, uint64_t now_ms);

// Whether this process owns it, as far as is known, by its present lease.
bool fleet_group_is_own(const struct fleet *f, const struct owned_group *g);

// An active group becomes standby here, whoever has it.
void fleet_group_lose(struct control *c, struct owned_group *g, uint64_t now_ms);

// After the keys of groups or members were read: who takes free groups first, and which one moves
// from this member next.
void fleet_moves_read(struct control *c, uint64_t now_ms);

// Continues the moves of groups to and from this member.
void fleet_moves_tick(struct control *c, uint64_t now_ms);

// The owner keeps a group that moves.
void fleet_move_end(struct control *c, struct owned_group *g, uint64_t now_ms);

// Whether a group moves to or from this member just now, so that keys are read more often.
bool fleet_moves(const struct control *c);

// Whether the value of a group is to be replaced for a move.
bool fleet_move_wants(const struct fleet *f, const struct owned_group *g);

// The value by which this member, the next owner, answers that it is ready, to be freed with
// free(): all else in it is the owner's. NULL: it is not asked, or there is no memory.
char *fleet_move_answer(const struct fleet *f, const struct owned_group *g);

// Before a group is given up: chooses the member that takes it next, as owned_group.fleet.to.
void fleet_move_name_next(struct control *c, struct owned_group *g);
