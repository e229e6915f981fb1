// SPDX-License-Identifier: BSD-3-Clause
// A connection to the control socket of one daemon: one request, one answer. The requests:
// lib/control/requests.h. One thread.
#pragma once

#include "client.h"
#include "command.h"

// Sends a request to the instance of that name (NULL: the only one that runs), and waits for the
// answer. If it fails, after a message on standard error, the program ends with that code.
void control_request(
	struct answer *answer, const char *instance, const char *request, enum exit_code failed);

// The same; the caller ends. True if there is an answer.
bool control_try(struct answer *answer, const char *instance, const char *request);

// Asks for something that is done at once, and ends the program if the daemon refuses it.
void control_order(struct answer *answer, const char *instance, const char *request);

#define CONTROL_EVENT_MAX 1024 // octets of an event with its NUL

// Subscribes to the events of that instance. Returns a descriptor.
int control_subscribe(const char *instance);

// Waits for the next event: fields NAME=VALUE with tabs between them. False, after a message on
// standard error, when the daemon has stopped.
bool control_event(int fd, const char *instance, char line[CONTROL_EVENT_MAX]);

// Seconds of a time until a confirmation: minutes, or seconds as "30s". 0: it is none that is
// allowed.
unsigned int control_confirm_s(const char *text);

// Writes a request to change the configuration with the terms of the options in front of it. To be
// wiped if it has keys, and freed.
char *control_change_request(const struct options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

// Prints the result of a request to change the configuration: done ("reloaded"), or refused, with
// the reason. With done "", prints that a request which changes nothing was refused.
enum exit_code answer_print(
	const struct options *options, const struct answer *answer, const char *done);
