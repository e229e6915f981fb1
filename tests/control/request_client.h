// SPDX-License-Identifier: BSD-3-Clause
// A client that sends one request after the other to the control thread of desk.h, and its answers:
// functions for struct request_io.
#pragma once

#include "desk.h"
#include "request_serve.h"

extern const char *client_next; // its request; NULL: there is none
extern bool client_may_change;
extern uid_t client_user;
extern char client_status[16], client_text[8192]; // of the last answer

bool client_take(void *arg, struct control_request *request, bool readers, request_wanted *wanted);
void client_answer(void *arg, const struct control_request *request, const char *status,
	const char *text, uint64_t now_ms);
int client_sa_begin(void *arg, struct sa *sa, bool new_keys);
