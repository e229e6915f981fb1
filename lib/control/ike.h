// SPDX-License-Identifier: BSD-3-Clause
// Requests of an IKE daemon. Control thread.
#pragma once

#include <stdio.h>

#include "control.h"

// Executes a request (conf_ike.h), or changes nothing after writing the reason to errors:
// "name:line: ...". The text has len octets and ends with NUL.
bool ike_request(struct control *c, const char *name, const char *text, size_t len, FILE *errors);

// Deletes and frees everything: workers have stopped.
void ike_stop(struct control *c);

// A packet matched a policy that has no SA: asks for one by an event.
void ike_acquire(struct control *c, const struct event *e, uint64_t now_ms);
