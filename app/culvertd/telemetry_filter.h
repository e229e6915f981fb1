// SPDX-License-Identifier: BSD-3-Clause
// Filters as text: "KEY=VALUE,...", "" for everything; and that of "show flows" and "flush flows".
// Threads of librte_telemetry, under the gateway's lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "flow.h"
#include "snapshot.h"

// Octets of a filter with its NUL. A request is not longer.
#define FILTER_MAX 1024

struct filter_key {
	const char *name;
	// False if the value is not what it must be.
	bool (*parse)(void *filter, const struct snapshot *s, const char *value);
	const char *must_be;
};

// Reads "KEY=VALUE,..." by a list of n keys. False with the reason in why.
bool filter_items_parse(void *filter, const struct filter_key keys[], unsigned int n,
	const struct snapshot *s, const char *text, char *why, size_t size);

// False with the reason in why if the text is no filter. SAs are those of the snapshot.
bool filter_parse(
	struct flow_filter *f, const struct snapshot *s, const char *text, char *why, size_t size);
