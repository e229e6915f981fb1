// SPDX-License-Identifier: BSD-3-Clause
#include "event_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

#define FIELDS_MAX 8

static const struct event_info {
	const char *name, *log;
	enum log_level severity;
	const char *field[FIELDS_MAX]; // NULL after the last
} info[EVENT_IDS] = {
#define EVENT(id, name, severity, log, ...)                                                        \
	[EVENT_##id] = {#name, log, LOG_LEVEL_##severity, {__VA_ARGS__}},
#include "event_log.def"
#undef EVENT
};

static struct {
	char line[EVENTS_KEPT][EVENT_LINE_MAX];
	uint64_t end; // events so far; number n is in line n % EVENTS_KEPT
	uint64_t count[EVENT_IDS];
} ring;

struct text {
	char *at;
	size_t size, len;
};

static void put(struct text *t, const char *octets, size_t len)
{
	for (size_t i = 0; i < len && t->len + 1 < t->size; i++)
		t->at[t->len++] = octets[i];
	t->at[t->len] = '\0';
}

// One line, one field: characters that would end them become spaces, except the last newline, which
// is removed.
static void put_value(struct text *t, const struct event_value *v)
{
	char number[24];
	size_t from = t->len;

	snprintf(number, sizeof(number), "%" PRIu64, v->number);
	put(t, v->text != NULL ? v->text : number, strlen(v->text != NULL ? v->text : number));
	if (t->len > from && t->at[t->len - 1] == '\n')
		t->at[--t->len] = '\0';
	for (size_t i = from; i < t->len; i++)
		if (t->at[i] == '\t' || t->at[i] == '\n')
			t->at[i] = ' ';
}

static void put_field(struct text *t, const char *name, const struct event_value *v)
{
	put(t, t->len > 0 ? "\t" : "", t->len > 0);
	put(t, name, strlen(name));
	put(t, "=", 1);
	put_value(t, v);
}

static void line_write(
	char line[EVENT_LINE_MAX], const struct event_info *e, const struct event_value values[])
{
	static const char *const words[] = {"error", "warning", "info", "debug"};
	struct text t = {line, EVENT_LINE_MAX, 0};
	char date[LOG_DATE_MAX];

	put_field(&t, "time", &EVENT_TEXT(log_date(date)));
	put_field(&t, "event", &EVENT_TEXT(e->name));
	put_field(&t, "severity", &EVENT_TEXT(words[e->severity]));
	for (unsigned int i = 0; i < FIELDS_MAX && e->field[i] != NULL; i++)
		put_field(&t, e->field[i], &values[i]);
}

// Writes the value of the field whose name stands at the start of text, after a brace.
static void put_named(struct text *t, const struct event_info *e, const struct event_value values[],
	const char *text, size_t len)
{
	for (unsigned int i = 0; i < FIELDS_MAX && e->field[i] != NULL; i++)
		if (strlen(e->field[i]) == len && strncmp(e->field[i], text, len) == 0)
			put_value(t, &values[i]);
}

static void log_write(const struct event_info *e, const struct event_value values[])
{
	char line[EVENT_LINE_MAX];
	struct text t = {line, sizeof(line), 0};
	const char *from = e->log;

	while (*from != '\0') {
		size_t len = strcspn(from, "{");

		put(&t, from, len);
		from += len;
		if (*from == '\0')
			break;
		len = strcspn(++from, "}");
		put_named(&t, e, values, from, len);
		from += len + 1;
	}
	log_line(e->severity, "%s", line);
}

void event_log_add(enum event_id id, const struct event_value values[])
{
	ring.count[id]++;
	log_write(&info[id], values);
	line_write(ring.line[ring.end++ % EVENTS_KEPT], &info[id], values);
}

void event_log_counts(uint64_t counts[EVENT_IDS])
{
	memcpy(counts, ring.count, sizeof(ring.count));
}

const char *event_name(unsigned int id)
{
	return info[id].name;
}

uint64_t event_log_end(void)
{
	return ring.end;
}

bool event_log_read(uint64_t *position, char line[EVENT_LINE_MAX])
{
	uint64_t lost = ring.end > *position + EVENTS_KEPT ? ring.end - *position - EVENTS_KEPT : 0;

	if (*position == ring.end)
		return false;
	if (lost > 0) {
		*position += lost;
		line_write(line, &info[EVENT_LOST], &EVENT_NUMBER(lost));
		return true;
	}
	memcpy(line, ring.line[*position % EVENTS_KEPT], EVENT_LINE_MAX);
	++*position;
	return true;
}
