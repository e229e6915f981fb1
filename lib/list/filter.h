// SPDX-License-Identifier: BSD-3-Clause
// Filters as text, "KEY=VALUE,...", "" for everything: the flows of "show flows" and "flush",
// the packet of "show match", the packets of "trace", the items of all other lists. False with the
// reason in why (size octets) if the text is no such filter. SAs, policies and ports are those of
// the snapshot. Threads of librte_telemetry, under the gateway's lock, and control thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "flow.h"
#include "match.h"
#include "ping.h"
#include "snapshot.h"
#include "trace_filter.h"
#include "view.h"

// Octets of a filter with its NUL. A request is not longer.
#define FILTER_MAX 1024

bool filter_parse(
	struct flow_filter *f, const struct snapshot *s, const char *text, char *why, size_t size);

#define FILTER_FIELDS_MAX 64 // of a list

// Of a list of views: the required values of its fields, in the order of their rows in field.def.
struct view_filter {
	const struct view_field *field;
	unsigned int n;
	bool any;                                      // has no key
	char wanted[FILTER_FIELDS_MAX][VIEW_TEXT_MAX]; // "": anything
};

bool filter_view_parse(
	struct view_filter *f, const char *list, const char *text, char *why, size_t size);

bool filter_view_matches(const struct view_filter *f, const void *view);

bool filter_match_parse(
	struct match_query *q, const struct snapshot *s, const char *text, char *why, size_t size);

struct trace_request {
	struct trace_filter filter;
	unsigned int count; // packets
};

bool filter_trace_parse(struct trace_request *r, const struct snapshot *s, const char *text,
	char *why, size_t size);

// The tunnel is looked up by ping_send().
bool filter_ping_parse(
	struct ping_order *o, const struct snapshot *s, const char *text, char *why, size_t size);

// "ping=NUMBER".
bool filter_ping_number_parse(uint32_t *number, const char *text, char *why, size_t size);

// "trace=NUMBER".
bool filter_trace_number_parse(unsigned int *number, const char *text, char *why, size_t size);
