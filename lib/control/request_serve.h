// SPDX-License-Identifier: BSD-3-Clause
// Requests that need no loading thread, and the answers and refusals of all (requests.h). Control
// thread.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "change.h"
#include "control.h"

#define REQUEST_TEXT_MAX    128   // octets of the answer of a request that is done at once
#define REQUEST_CONFIRM_MAX 86400 // seconds

struct control_request {
	char *text; // ends with NUL
	size_t len;
	uid_t uid; // of the client
	pid_t pid;
	bool may_change; // it may change something
	void *from;      // of who has taken it: where the answer goes (NULL: to the other member),
	uint64_t client; // and to which client there
};

// The words in front of a request.
struct request_terms {
	bool new_keys;          // keys that are not recorded are declared new
	unsigned int confirm_s; // it returns by itself after these seconds; 0: it does not
	char *text;             // the rest
};

// Wipes its text, which may contain keys, and frees it. There may be none.
void control_request_free(struct control_request *r);

// Makes a configuration; running is the one that runs. Errors are written to errors, one
// line each. NULL: there is none to apply. On the loading thread.
typedef struct conf *request_make(const struct conf *running, FILE *errors);

// Whether a request of this text may be taken.
typedef bool request_wanted(const char *text);

// A request that needs no loading thread. Writes the result, or the reason of its failure, to text
// (size octets). Returns whether it was done.
struct request_at_once {
	const char *name;
	bool (*serve)(struct control *c, const char *filter, char *text, size_t size);
	bool often; // one after the other, and nothing lasts: only a client without the right to
		    // make it causes an event
};

// Functions of the daemon for requests.
struct request_io {
	// The next request, first of clients that may change something; readers: else of clients
	// that may only read. wanted: no other than a request whose text it accepts; NULL: any. Its
	// text belongs to the caller. False if there is none.
	bool (*take)(
		void *arg, struct control_request *request, bool readers, request_wanted *wanted);
	// Answers it.
	void (*answer)(void *arg, const struct control_request *request, const char *status,
		const char *text, uint64_t now_ms);
	// Answers it with that text, and sends all later events. False: it cannot.
	bool (*subscribe)(const struct control_request *request, const char *text);
	// As in load.h of the daemon.
	int (*load_begin)(void *arg, request_make *make, bool new_keys, bool back, FILE *errors);
	int (*load_finish)(void *arg);
	change_sa_begin *sa_begin;
	// For the service manager: a reload begins; it is over.
	void (*reloading)(void);
	void (*ready)(void);
	const struct request_at_once *at_once; // nameless after the last
};

// Where requests are served: the argument of requests_start().
struct request_desk {
	struct control *c;
	const struct request_io *io;
	void *arg;
};

// Whether the first word of a request is this one.
bool request_is_named(const char *text, const char *name);

// The request of io->at_once that the text is; NULL: it is another one.
const struct request_at_once *request_at_once(const struct request_desk *at, const char *text);

// Reads the terms of a request, in whose text the rest stays.
struct request_terms request_terms_read(char *text);

// Posts the event about a finished request.
void request_post(const struct request_desk *at, const struct control_request *asked,
	const char *name, bool done);

// Answers with the generation if it is done, else with the text, which has the reason.
void request_answer(const struct request_desk *at, const struct control_request *asked,
	const char *status, bool done, const char *text, uint64_t now_ms);

// Whether the client may change something; if not, refuses the request of that name.
bool request_may_change(const struct request_desk *at, const struct control_request *asked,
	const char *name, uint64_t now_ms);

// The changes of a request, which stand after its first line, "VERB NAME"; *name: that name. NULL
// after a line to errors if there are none. text: of asked, without a declaration of keys.
const char *request_changes(char *text, const char **name, FILE *errors);

// Serves a request to its end. text: of it, without a declaration of keys.
void request_serve(const struct request_desk *at, const struct control_request *asked, char *text,
	uint64_t now_ms);
