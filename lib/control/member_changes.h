// SPDX-License-Identifier: BSD-3-Clause
// Changes of the configuration at run time, which each member of a pair sends to the other one, so
// that both have them. A member has a journal of the changes since its file was read last, also of
// the other one's: a member that was started again gets them from there. In lines, where a process
// is a random number, and N counts the changes of its journal from 1 on:
//
//   changes PROCESS OTHER N    of this process, which has all changes of the other up to N
//   same N                     the other one has no need of changes up to N: it has them
//   change N OFFSET LEN HEX    a part of the request, as of requests.h, that has made a change
//   refused WHY                a request of the other one has been refused here
//
// Control thread, with the gateway's lock; member_changes_take(), and the functions that are called
// about a request, without it. Nothing happens without a channel.
#pragma once

#include "control.h"
#include "request_serve.h"

// Octets of requests in a journal; without the first ones no other member can begin with it.
#define MEMBER_JOURNAL_MAX (1024 * 1024)

struct member_changes;

// NULL with errno ENOMEM, or of getrandom().
struct member_changes *member_changes_new(void);

// Wipes all requests: some have keys. NULL is allowed.
void member_changes_free(struct member_changes *m);

// A request "change NAME" and its text, of an operator or from the other member, has been done.
// new_keys: as in requests.h.
void member_changes_note(struct control *c, const struct control_request *asked, bool new_keys,
	const char *name, const char *text);

// The configuration is that of the file again.
void member_changes_clear(struct control *c);

// The present configuration has the changes of the journal up to now, when its digest is made.
void member_changes_digest(struct control *c);

// Begins with another connection. same: both configurations were the same when it began.
void member_changes_connected(struct control *c, bool same);

// Sends lines, as far as there is room, and repeats the state. Call it every 100 ms.
void member_changes_send(struct control *c);

// Takes a line of the other member. False: it is none of these.
bool member_changes_learn(struct control *c, const char *line);

// The next request of the other member; the caller owns its text. False if there is none. It has to
// be answered.
bool member_changes_take(struct control *c, struct control_request *request);

// Its answer, as of struct request_io.
void member_changes_answer(struct control *c, const char *status, const char *text);

// Whether a request was taken from there.
static inline bool member_has_asked(const struct control_request *request)
{
	return request->text != NULL && request->from == NULL;
}
