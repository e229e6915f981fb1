// SPDX-License-Identifier: BSD-3-Clause
// What to trace, as text: "count=N" and what packets have to be, see telemetry_filter.h. Control
// thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "snapshot.h"
#include "trace_filter.h"

struct trace_request {
	struct trace_filter filter;
	unsigned int count; // packets
};

// False with the reason in why. SAs, policies and ports are those of the snapshot.
bool trace_request_parse(struct trace_request *r, const struct snapshot *s, const char *text,
	char *why, size_t size);
