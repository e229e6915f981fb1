// SPDX-License-Identifier: BSD-3-Clause
// An etcd inside a test, beside the control thread of desk.h: it keeps the question of the fleet
// until the test answers it.
#pragma once

#include "desk.h"
#include "fleet_parts.h"

#define LEASE 7 // of this member, "culvert",
#define OTHER 9 // and of the other one, "other"

#define STRANGER 11 // one of another version

enum { ME = 1, THEM = 2, UNREADABLE = 4 };

extern enum etcd_call asked;
extern char *body;                 // of the question; NULL: it is answered
extern bool has_failed;            // set it: no endpoint answers the question
extern char *(*etcd_answer)(void); // set it: answers each question, with a text on the heap
extern int64_t revision;           // of etcd
extern char *taken;                // the value that take() has given to the group
extern const char *their_text;     // of the key of the other member,
extern int64_t their_lease;        // which is OTHER, but for another process
extern const char *third_text;     // of the key of UNREADABLE, which a test may make readable
extern const char *their_group;    // the value of the group "theirs"; NULL: there is none

// Lets some milliseconds pass.
void tick(void);

// Whether the question is to replace the value of the group.
bool is_replacing(void);

// The value that it would get, to be freed.
char *value_asked(void);

// The value that it is compared with, to be freed.
char *value_compared(void);

// Until there is a question, which is of this kind.
void wait_for(enum etcd_call call);

void reply(const char *text);

// The same while the control thread waits for something else.
void reply_meanwhile(const char *text);

// Whether the question is no more than for the revision; its answer: the present one.
bool is_polling(void);
void reply_revision(void);

// Whether it is for keys.
bool is_reading(void);

// The answer to a read, after waiting for it: these members, and the group with a value that is
// new; NULL: it is missing.
void reply_keys(unsigned int members, const char *value);

// The answer to a transaction: whether it was done, and the value that the group has then. The text
// is to be freed.
void reply_replaced(bool done, const char *value);
char *replaced_text(bool done, const char *value);

// Makes the member one of the fleet; the first read is the next question.
void join(void);

// Answers a question about the lease, if there is one.
void keep(void);

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

// Before and after each test.
int fleet_desk_begin(void **state);
int fleet_desk_end(void **state);

#define fleet_test(f) cmocka_unit_test_setup_teardown(f, fleet_desk_begin, fleet_desk_end)
