// SPDX-License-Identifier: BSD-3-Clause
// Everything that the gateway counts, as text of OpenMetrics 1.0
// (https://prometheus.io/docs/specs/om/open_metrics_spec/). Each metric is a line in
// docs/metrics.md, and a test compares.
#pragma once

#include "view.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Returns the text about n lists in new memory, or NULL if there is none. Takes the gateway's lock
// while it collects the numbers, not while it writes them. Any thread.
char *metrics_text_new(
	struct control *c, const struct view_list lists[], unsigned int n, size_t *len);
