// SPDX-License-Identifier: BSD-3-Clause
// The filter of "show flows" and "flush flows" as text: "KEY=VALUE,...", "" for every flow. Threads
// of librte_telemetry, under the gateway's lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "flow.h"
#include "snapshot.h"

// Octets of a filter with its NUL. A request is not longer.
#define FILTER_MAX 1024

// False with the reason in why if the text is no filter. SAs are those of the snapshot.
bool filter_parse(
	struct flow_filter *f, const struct snapshot *s, const char *text, char *why, size_t size);
