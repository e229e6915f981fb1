// SPDX-License-Identifier: BSD-3-Clause
// The rows of lib/stats/field.def as tables: which lists there are, what their items have in JSON,
// and which metrics they give. Constant; any thread.
#pragma once

#include <rte_telemetry.h>

#include "collect.h"
#include "openmetrics.h"

// How a field of JSON is found in the view.
enum view_value {
	VALUE_ELSEWHERE,
	VALUE_U64,
	VALUE_LEFT,
	VALUE_AGE,
	VALUE_STRING,
	VALUE_CHARS,
	VALUE_YES_NO,
	VALUE_ADDR,
	VALUE_PREFIX,
	VALUE_SELECTOR,
	VALUE_PROTO,
	VALUE_PORTS,
	VALUE_ICMP,
	VALUE_ADDRESSES,
	VALUE_DROPS,
};

enum metric_kind { METRIC_NONE, METRIC_LABEL, METRIC_INFO_LABEL, METRIC_FAMILY };

struct metric {
	enum metric_kind kind;
	const char *name; // of the family, without "culvert_"; of a label
	const char *unit; // that the name ends with; NULL: none
	const char *help;
	enum openmetrics_type type;
	size_t offset; // of the value in the view; METRIC_OF_FIELD: the field's
	double factor; // to be multiplied by; 0 or 1: the value as it is
	bool positive; // there is no sample of 0
	// Of an array, the name of the label that distinguishes its values; its value is word(i),
	// with i from first to n - 1. NULL: there is one value.
	const char *label;
	const char *(*word)(unsigned int i);
	unsigned int first, n;
};

#define METRIC_OF_FIELD SIZE_MAX

struct view_field {
	const char *list, *name; // name NULL: a metric alone
	enum view_value value;
	size_t offset; // in the view
	struct metric metric;
};

struct view_list {
	const char *name, *help;
	size_t size; // octets of a view
	bool (*collect)(void *view, const struct gateway *g, unsigned int i);
};

extern const struct view_list view_lists[];
extern const unsigned int view_n_lists;

// Fields and metrics of a list, in the order of JSON; sets *n to how many.
const struct view_field *view_fields(const char *list, unsigned int *n);

// Room for the view of any list.
union any_view {
	struct info_view info;
	struct total_view total;
	struct worker_view worker;
	struct port_view port;
	struct queue_view queue;
	struct stage_view stage;
	struct sa_view sa;
	struct tunnel_view tunnel;
	struct policy_view policy;
	struct rule_view rule;
	struct memory_view memory;
	struct route_view route;
	struct neighbour_view neighbour;
	struct drop_view drop;
};

#define VIEW_TEXT_MAX 64

// The value of a field as text: the value's own, or in text. An absent number is "-". "" if it is
// an array or object.
const char *view_text(char text[VIEW_TEXT_MAX], const struct view_field *f, const void *view);

// Adds all fields of a list's view to an item of the answer.
void view_add(struct rte_tel_data *item, const char *list, const void *view);
