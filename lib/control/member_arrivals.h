// SPDX-License-Identifier: BSD-3-Clause
// Requests that arrive from the other member of a pair in parts (member_changes.h), and wait for
// their turn. Also a request that is kept. Control thread.
#pragma once

#include <sys/queue.h>

#include "request_serve.h"

// Requests that a process is sent before it has served the first.
#define MEMBER_AHEAD_MAX 64

struct member_request {
	STAILQ_ENTRY(member_request) next;
	uint64_t number;  // in the journal that it is of, or comes from
	uint64_t process; // of the other member, that it comes from; 0: of an operator
	size_t len;
	char *text; // ends with NUL
};

STAILQ_HEAD(member_requests, member_request);

// len: octets of its text, which is empty. NULL with errno ENOMEM.
struct member_request *member_request_new(size_t len);

// Wipes it: some have keys. NULL is allowed.
void member_request_free(struct member_request *r);
void member_requests_free(struct member_requests *all);

struct member_arrivals {
	struct member_requests waiting; // also of former processes of the other member
	unsigned int n;
	bool full;         // there was no room for one: those after it are not taken, either
	uint64_t process;  // the present one; 0: not known
	uint64_t received; // number of its last request that waits, or was taken
	struct member_request *arriving; // parts of the next one; NULL: there are none
	size_t arrived;                  // octets of it
};

void member_arrivals_init(struct member_arrivals *a);
void member_arrivals_fini(struct member_arrivals *a);

// Another connection begins, with the first request that has not arrived.
void member_arrivals_connected(struct member_arrivals *a);

// The other member has another process, of which nothing has arrived.
void member_arrivals_process(struct member_arrivals *a, uint64_t process);

// Takes a part: the line after its first word. False: it is malformed.
bool member_arrivals_part(struct member_arrivals *a, const char *rest);

// The next request, which the caller owns. NULL: there is none.
struct member_request *member_arrivals_take(struct member_arrivals *a);
