// SPDX-License-Identifier: BSD-3-Clause
// An etcd inside a test, beside the control thread of desk.h: it keeps the question of the fleet
// until the test answers it.
#pragma once

#include "desk.h"
#include "fleet_parts.h"

#define LEASE 7 // of this member, "culvert",
#define OTHER 9 // and of the other one, "other"

enum { ME = 1, THEM = 2 };

extern enum etcd_call asked;
extern char *body;       // of the question; NULL: it is answered
extern bool has_failed;  // set it: no endpoint answers the question
extern int64_t revision; // of etcd

// Lets some milliseconds pass.
void tick(void);

// Whether the question is to replace the value of the group.
bool is_replacing(void);

// The value that it would get, to be freed.
char *value_asked(void);

// Until there is a question, which is of this kind.
void wait_for(enum etcd_call call);

void reply(const char *text);

// The answer to a read, after waiting for it: these members, and the group with a value that is
// new; NULL: it is missing.
void reply_keys(unsigned int members, const char *value);

// The answer to a transaction: whether it was done, and the value that the group has then.
void reply_replaced(bool done, const char *value);

// Makes the member one of the fleet; the first read is the next question.
void join(void);

// Answers a question about the lease, if there is one.
void keep(void);

// For that many milliseconds, in which reads are answered with these keys. Ends when the group is
// to be replaced: true.
bool is_replaced_in(unsigned int ms, unsigned int members, const char *value);
