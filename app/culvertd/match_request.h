// SPDX-License-Identifier: BSD-3-Clause
// What "show match" asks, as text: see telemetry_filter.h. Threads of librte_telemetry.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "match.h"

// False with the reason in why.
bool match_request_parse(
	struct match_query *q, const struct snapshot *s, const char *text, char *why, size_t size);
