// SPDX-License-Identifier: BSD-3-Clause
// Requests that need no loading thread, and the answers and refusals of all (requests.h). Control
// thread.
#pragma once

#include "requests.h"

// Where requests are served: what requests_start() was called with.
struct request_desk {
	struct control *c;
	const struct request_io *io;
	void *arg;
};

// Whether the first word of a request is this one.
bool request_is_named(const char *text, const char *name);

// Posts what came of a request.
void request_post(const struct request_desk *at, const struct control_request *asked,
	const char *name, bool done);

// Answers with the generation if it is done, else with the text, which says why not.
void request_answer(const struct request_desk *at, const struct control_request *asked,
	const char *status, bool done, const char *text, uint64_t now_ms);

// Whether the client may change something; if not, refuses the request of that name.
bool request_may_change(const struct request_desk *at, const struct control_request *asked,
	const char *name, uint64_t now_ms);

// Serves a request to its end. text: of it, without a declaration of keys.
void request_serve(const struct request_desk *at, const struct control_request *asked, char *text,
	uint64_t now_ms);
