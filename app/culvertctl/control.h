// SPDX-License-Identifier: BSD-3-Clause
// The conversation with one daemon over its control socket: one request, one answer. What is said
// there: app/culvertd/request.h. One thread.
#pragma once

#include "ask.h"
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

#define CONTROL_EVENT_MAX 1024 // octets of an event with its NUL

// A daemon that sends its events.
struct subscription {
	struct target target;
	int fd;
};

// Subscribes at the instance of that name (NULL: the only one that runs). What goes wrong is said
// on standard error.
enum exit_code control_subscribe(struct subscription *s, const char *instance);

// Waits for the next event: fields NAME=VALUE with tabs between them. False, after saying so on
// standard error, when the daemon has stopped.
bool control_event(const struct subscription *s, char line[CONTROL_EVENT_MAX]);

void control_unsubscribe(struct subscription *s);

// Says why the instance of that name has refused to flush or trace.
enum exit_code refusal_say(const char *instance, const struct answer *answer);

// Prints what came of a request to change the configuration: what was done ("reloaded"), or that it
// was refused and why.
enum exit_code answer_print(
	const struct options *options, const struct answer *answer, const char *done);
