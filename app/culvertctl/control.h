// SPDX-License-Identifier: BSD-3-Clause
// The conversation with one daemon over its control socket: one request, one answer. What is said
// there: app/culvertd/request.h. One thread.
#pragma once

#include "command.h"

// What a daemon answers.
struct answer {
	char status[16];
	char *text;
};

// Sends a request to the instance of that name (NULL: the only one that runs), and waits for the
// answer. What goes wrong is said on standard error.
enum exit_code control_ask(
	struct answer *answer, const char *instance, const char *request, size_t len);

void answer_fini(struct answer *answer);

// Prints what came of a request to do something: what was done ("reloaded"), or that it was refused
// and why.
enum exit_code answer_print(
	const struct options *options, const struct answer *answer, const char *done);
