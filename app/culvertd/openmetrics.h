// SPDX-License-Identifier: BSD-3-Clause
// Writes the text format of OpenMetrics 1.0
// (https://prometheus.io/docs/specs/om/open_metrics_spec/). What there is to write is a table:
// lists of views that are alike, and metrics that each are found at one place in a view. Any
// thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
// Octets of the labels of a sample with their NUL.
#define OPENMETRICS_LABELS_MAX 512
// A value that is not there: it has no sample.
#define OPENMETRICS_NONE UINT64_MAX

enum openmetrics_type { OPENMETRICS_COUNTER, OPENMETRICS_GAUGE, OPENMETRICS_INFO };

struct openmetrics_labels {
	size_t len;
	char text[OPENMETRICS_LABELS_MAX];
};

// Appends name="value", escaped; what does not fit is left out.
void openmetrics_label(struct openmetrics_labels *l, const char *name, const char *value);

// A metric family. Its values are uint64_t in a view; an info has none.
struct openmetrics_family {
	const char *name; // without the suffix of a sample
	const char *unit; // the end of the name; NULL: none
	const char *help;
	enum openmetrics_type type;
	size_t offset; // of the value in the view
	double factor; // to be multiplied by; 0: the value as it is
	// Of an info, labels that only it has. NULL: those of the list.
	void (*labels)(struct openmetrics_labels *l, const void *view);
	// Of an array of n values, the label that tells them apart; NULL: there is one value.
	const char *label;
	const char *(*label_value)(unsigned int i);
	unsigned int first, n;
	bool nonzero; // only those that are not 0
};

// Views of one kind, one behind the other, each with labels that no other has.
struct openmetrics_list {
	const void *views;
	size_t size, n;
	void (*labels)(struct openmetrics_labels *l, const void *view); // NULL: a single one
	const struct openmetrics_family *families;                      // up to one without a name
	const char *common, *common_value;                              // a label of all samples
};

void openmetrics_write(FILE *out, const struct openmetrics_list *list);

// Behind the last list.
void openmetrics_end(FILE *out);
