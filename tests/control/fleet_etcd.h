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

// Answers a question about the lease, if there is one.
void keep(void);

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

// Before and after each test.
void fleet_etcd_begin(void);
void fleet_etcd_end(void);
