// SPDX-License-Identifier: BSD-3-Clause
// The text format of OpenMetrics 1.0
// (https://prometheus.io/docs/specs/om/open_metrics_spec/): a head for each family, then its
// samples, at last the end. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
// Octets of the labels of a sample with their NUL.
#define OPENMETRICS_LABELS_MAX 512

enum openmetrics_type { OPENMETRICS_COUNTER, OPENMETRICS_GAUGE, OPENMETRICS_INFO };

// Zeroed to begin with.
struct openmetrics_labels {
	size_t len;
	char text[OPENMETRICS_LABELS_MAX];
};

// Appends name="value", escaped; what does not fit is left out.
void openmetrics_label(struct openmetrics_labels *l, const char *name, const char *value);

// name: of the family, without the suffix of a sample. unit: the end of the name; NULL: none.
void openmetrics_head(FILE *out, const char *name, enum openmetrics_type type, const char *unit,
	const char *help);

// factor: the value is multiplied by it; 0 or 1: it is written as it is.
void openmetrics_sample(FILE *out, const char *name, enum openmetrics_type type,
	const struct openmetrics_labels *l, uint64_t value, double factor);

void openmetrics_end(FILE *out);
