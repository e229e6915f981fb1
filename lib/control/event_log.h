// SPDX-License-Identifier: BSD-3-Clause
// The events of the running gateway (event_log.def). event_post() writes the line of the log and
// keeps the event for subscribers of the control socket. The last EVENTS_KEPT are kept in a ring;
// each reader has a position of its own there, and learns how many events it was too late for.
// Control thread.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_KEPT    2048 // IKE may have thousands of SAs
#define EVENT_LINE_MAX 768  // octets of a line with its NUL; longer values are cut

enum event_id {
#define EVENT(id, name, severity, log, ...) EVENT_##id,
#include "event_log.def"
#undef EVENT
	EVENT_IDS
};

// How many fields each has: EVENT_LINK_UP_FIELDS.
enum event_fields {
#define EVENT(id, name, severity, log, ...)                                                        \
	EVENT_##id##_FIELDS = sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *),
#include "event_log.def"
#undef EVENT
};

// The value of a field: text, or if that is NULL a number.
struct event_value {
	const char *text;
	uint64_t number;
};

#define EVENT_TEXT(value)   ((struct event_value){.text = (value)})
#define EVENT_NUMBER(value) ((struct event_value){.number = (uint64_t)(value)})

// Logs and keeps an event: event_post(LINK_UP, EVENT_TEXT("wan")). One value for each field.
#define event_post(id, ...)                                                                        \
	do {                                                                                       \
		const struct event_value values_[] = {__VA_ARGS__};                                \
		static_assert(sizeof(values_) / sizeof(values_[0]) == EVENT_##id##_FIELDS,         \
			"as many values as fields");                                               \
		event_log_add(EVENT_##id, values_);                                                \
	} while (0)

void event_log_add(enum event_id id, const struct event_value values[]);

// How many of each there were since the start.
void event_log_counts(uint64_t counts[EVENT_IDS]);

// "link_down"
const char *event_name(unsigned int id);

// The position after the last event: a subscriber that begins there gets all later events.
uint64_t event_log_end(void);

// Writes the event at the position, and moves the position on. "time=DATE", "event=NAME",
// "severity=WORD" and the fields, each NAME=VALUE, with tabs between them and no line end. Events
// that are no longer kept are skipped: the event "lost" has their number. False: there is none.
bool event_log_read(uint64_t *position, char line[EVENT_LINE_MAX]);
