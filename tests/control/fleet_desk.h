// SPDX-License-Identifier: BSD-3-Clause
// A member of a fleet beside the etcd of fleet_etcd.h: it joins, takes groups, and gives them up.
#pragma once

#include "fleet_etcd.h"

extern char *taken; // the value that take() has given to the group

// Makes the member one of the fleet; the first read is the next question.
void join(void);

// The lease has ended. The next one is this, and the key of the member is made with it, or another
// gateway is that member.
void lose_lease(int64_t next, bool is_twice);

// For that many milliseconds, without an answer.
void fail_for(unsigned int ms);

// For that many milliseconds, in which reads are answered with these keys. Ends when the group is
// to be replaced: true.
bool is_replaced_in(unsigned int ms, unsigned int members, const char *value);

// Replaces the configuration by that of desk_conf(), whose SAs all have ESN.
void fleet_reload(const char *more, const char *sa);

const struct owned_group *group(void);

// A value of the group, to be freed: with these bounds, and number in use.
char *value_of(
	const char *owner, int64_t lease, uint64_t turn, uint64_t out, uint64_t in, uint64_t used);

// The same with other lines before those of SAs, with inbound bounds as of a first owner.
char *value_with(const char *head, uint64_t used);

// The answer to a read, with such a value.
void reply_keys_with(unsigned int members, const char *head, uint64_t used);

// The value that etcd is asked to write has this in it.
void check_asked(const char *head);

// Etcd writes the value that it is asked to.
void etcd_does_it(void);

// The value that is asked for, of this owner, with another line for its move. To be freed.
char *answered(const char *line);

// The group is free, and this member takes it.
void take(void);

// The group is active here, and drained: the other member is asked.
void move_ask(void);

// The other one is ready, and the group leaves. Returns that value, to be freed.
char *move_leave(void);

// The value that etcd is asked to give the key of this member, to be freed, after all other
// questions were answered.
char *description_asked(void);

// The same, after etcd has written it.
char *description_written(void);

// Etcd writes all values of groups that it is asked to.
void no_writes(void);

// Before and after each test.
int fleet_desk_begin(void **state);
int fleet_desk_end(void **state);

#define fleet_test(f) cmocka_unit_test_setup_teardown(f, fleet_desk_begin, fleet_desk_end)
