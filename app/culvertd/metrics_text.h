// SPDX-License-Identifier: BSD-3-Clause
// Everything that the gateway counts, as text of OpenMetrics. Each metric is a line in
// docs/metrics.md, and a test compares.
#pragma once

#include "gateway.h"

// Returns the text in new memory, or NULL if memory is short. Takes the gateway's lock while it
// gathers the numbers, not while it writes them. Any thread.
char *metrics_text_new(struct gateway *g, size_t *len);
