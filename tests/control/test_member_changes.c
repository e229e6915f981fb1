// SPDX-License-Identifier: BSD-3-Clause
// Changes at run time of the members of a pair: two journals, and the lines between them, without a
// channel. Connections end at any time, processes are started again, and lines are malformed.
#include <inttypes.h>

#include "channel.h"
#include "event_log.h"
#include "line.h"
#include "member_arrivals.h"
#include "member_changes.h"
#include "test.h"

#define QUEUE_SIZE 8192

struct member {
	struct control c;
	struct line_queue to; // lines for the other one
	char done[4096];      // the requests that it has served, each with a blank after it
	const char *refusal;  // of its next request
};

static struct member a, b;
static char refused[256]; // reason of the last event
static size_t waiting;    // octets of other lines

bool __wrap_channel_send(struct channel *ch, const char *line, size_t len);
size_t __wrap_channel_waiting(struct channel *ch);
void __wrap_event_log_add(enum event_id id, const struct event_value values[]);

bool __wrap_channel_send(struct channel *ch, const char *line, size_t len)
{
	struct member *m = (struct member *)ch;

	assert_int_equal(strlen(line), len);
	assert_in_range(len, 1, LINE_LEN_MAX - 1);
	return line_queue_put(&m->to, line, len);
}

size_t __wrap_channel_waiting(struct channel *ch)
{
	return ((struct member *)ch)->to.len + waiting;
}

void __wrap_event_log_add(enum event_id id, const struct event_value values[])
{
	assert_int_equal(id, EVENT_MEMBER_REFUSED);
	snprintf(refused, sizeof(refused), "%s", values[0].text);
}

static void member_begin(struct member *m)
{
	m->c.member.channel = (struct channel *)m;
	m->c.member.changes = member_changes_new();
	assert_non_null(m->c.member.changes);
	m->done[0] = '\0';
}

static void member_end(struct member *m)
{
	member_changes_free(m->c.member.changes);
}

static int begin(void **state)
{
	(void)state;
	assert_int_equal(line_queue_init(&a.to, QUEUE_SIZE), 0);
	assert_int_equal(line_queue_init(&b.to, QUEUE_SIZE), 0);
	member_begin(&a);
	member_begin(&b);
	return 0;
}

static int end(void **state)
{
	(void)state;
	member_end(&a);
	member_end(&b);
	line_queue_fini(&a.to);
	line_queue_fini(&b.to);
	return 0;
}

#define changes_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

static void connect_them(bool same)
{
	line_queue_clear(&a.to);
	line_queue_clear(&b.to);
	member_changes_connected(&a.c, same);
	member_changes_connected(&b.c, same);
}

// The process ends, and another one begins, which has the changes of its file.
static void start_again(struct member *m, bool same)
{
	member_end(m);
	member_begin(m);
	connect_them(same);
}

static void operator_does(struct member *m, const char *text)
{
	struct control_request asked = {.text = (char *)(uintptr_t)text, .from = m};

	member_changes_note(&m->c, &asked, false, "test", text);
	strcat(strcat(m->done, text), " ");
}

static void serve(struct member *m)
{
	static const char start[] = "change test\n";
	struct control_request asked;

	while (member_changes_take(&m->c, &asked)) {
		assert_true(member_has_asked(&asked));
		assert_true(asked.may_change);
		assert_memory_equal(asked.text, start, strlen(start));
		if (m->refusal == NULL) {
			member_changes_note(
				&m->c, &asked, false, "test", asked.text + strlen(start));
			strcat(strcat(m->done, asked.text + strlen(start)), " ");
		}
		member_changes_answer(&m->c, m->refusal != NULL ? "refused" : "ok",
			m->refusal != NULL ? m->refusal : "generation 1\n");
		m->refusal = NULL;
		control_request_free(&asked);
	}
}

// All lines from one arrive at the other, or as many; SIZE_MAX: all.
static size_t deliver(struct member *from, struct member *to, size_t n)
{
	char line[LINE_LEN_MAX];
	size_t len, taken = 0;

	while (taken < n && (len = line_queue_take(&from->to, line, sizeof(line))) > 0) {
		line[len - 1] = '\0';
		assert_true(member_changes_learn(&to->c, line));
		taken++;
	}
	return taken;
}

static void tick(void)
{
	member_changes_send(&a.c);
	member_changes_send(&b.c);
	deliver(&a, &b, SIZE_MAX);
	deliver(&b, &a, SIZE_MAX);
	serve(&a);
	serve(&b);
}

static void ticks(unsigned int n)
{
	while (n-- > 0)
		tick();
}

static void each_has_the_changes_of_the_other(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	operator_does(&a, "a1");
	operator_does(&a, "a2");
	ticks(3);
	operator_does(&b, "b1");
	ticks(3);
	assert_string_equal(a.done, "a1 a2 b1 ");
	assert_string_equal(b.done, "a1 a2 b1 ");
}

static void those_without_a_connection_follow(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	operator_does(&a, "a1");
	ticks(3);
	operator_does(&a, "a2");
	connect_them(false);
	operator_does(&a, "a3");
	ticks(4);
	assert_string_equal(b.done, "a1 a2 a3 ");
}

// Of a long request any number of lines arrives before the connection ends.
static void none_is_made_twice_or_in_part(void **state)
{
	char text[2000], expected[2100];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t n = 0; n < 12; n++) {
		connect_them(true);
		ticks(3);
		b.done[0] = '\0';
		operator_does(&a, text);
		a.done[0] = '\0';
		member_changes_send(&a.c);
		deliver(&a, &b, n);
		serve(&b);
		connect_them(true);
		ticks(4);
		snprintf(expected, sizeof(expected), "%s ", text);
		assert_string_equal(b.done, expected);
		assert_string_equal(a.done, "");
	}
}

static void a_process_that_was_started_again_gets_all(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	operator_does(&a, "a1");
	ticks(3);
	operator_does(&b, "b1");
	ticks(3);
	start_again(&a, false);
	ticks(4);
	assert_string_equal(a.done, "a1 b1 "); // its own one, too
	assert_string_equal(b.done, "a1 b1 ");
	operator_does(&a, "a2");
	ticks(3);
	start_again(&b, false);
	ticks(4);
	assert_string_equal(b.done, "a1 b1 a2 ");
}

// They wait for their turn when the process ends that has made them.
static void those_of_a_process_that_has_ended_are_made(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	operator_does(&a, "a1");
	operator_does(&a, "a2");
	member_changes_send(&a.c);
	deliver(&a, &b, SIZE_MAX);
	start_again(&a, false);
	member_changes_send(&a.c);
	deliver(&a, &b, SIZE_MAX);
	operator_does(&a, "new");
	ticks(4);
	assert_string_equal(b.done, "a1 a2 new ");
	assert_string_equal(a.done, "new a1 a2 ");
}

static void a_file_that_has_them_gets_none(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	operator_does(&a, "a1");
	ticks(3);
	member_changes_digest(&a.c);
	start_again(&b, true);
	ticks(3);
	assert_string_equal(b.done, "");
	operator_does(&a, "a2"); // not in the digest
	start_again(&b, true);
	ticks(3);
	assert_string_equal(b.done, "a2 ");
}

static void a_reload_begins_a_journal(void **state)
{
	(void)state;
	connect_them(true);
	operator_does(&a, "a1");
	member_changes_clear(&a.c);
	ticks(3);
	assert_string_equal(b.done, "");
	operator_does(&a, "a2");
	ticks(3);
	start_again(&b, false);
	ticks(3);
	assert_string_equal(b.done, "a2 ");
}

// Requests wait at the other one when the journal is cleared, and those after it fit as well.
static void a_reload_loses_none_that_wait(void **state)
{
	char text[8], expected[sizeof(a.done)] = "";

	(void)state;
	connect_them(true);
	ticks(3);
	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < MEMBER_AHEAD_MAX; i++) {
			snprintf(text, sizeof(text), "%u.%u", round, i);
			operator_does(&a, text);
			strcat(strcat(expected, text), " ");
		}
		for (unsigned int i = 0; i < 10; i++) {
			member_changes_send(&a.c);
			deliver(&a, &b, SIZE_MAX);
		}
		if (round == 0)
			member_changes_clear(&a.c);
	}
	ticks(20);
	assert_string_equal(b.done, expected);
}

static void more_than_fit_wait(void **state)
{
	char text[8], last[] = "999 ";

	(void)state;
	connect_them(true);
	ticks(3);
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%u", i);
		operator_does(&a, text);
		a.done[0] = '\0';
	}
	for (unsigned int i = 0; i < 100 && strstr(b.done, last) == NULL; i++) {
		b.done[0] = '\0';
		tick();
	}
	assert_non_null(strstr(b.done, last));
}

// Without its begin the rest of a journal means nothing.
static void a_journal_without_its_begin_is_not_sent(void **state)
{
	static char text[60000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	connect_them(true);
	for (unsigned int i = 0; i < 20; i++) {
		struct control_request asked = {.text = text, .from = &a};

		member_changes_note(&a.c, &asked, false, "test", text);
	}
	start_again(&b, false);
	ticks(100);
	assert_string_equal(b.done, "");
	operator_does(&a, "next");
	ticks(3);
	assert_string_equal(b.done, "next ");
}

// There is no room for the answer to its first report.
static void the_begin_is_tried_again(void **state)
{
	char line[1000];

	(void)state;
	connect_them(true);
	memset(line, 'x', sizeof(line));
	while (line_queue_put(&a.to, line, sizeof(line)))
		;
	member_changes_send(&b.c);
	deliver(&b, &a, SIZE_MAX);
	line_queue_clear(&a.to);
	ticks(12);
	operator_does(&a, "a1");
	ticks(3);
	assert_string_equal(b.done, "a1 ");
}

// So that it has the state of a process that knows nothing before it has sent its own.
static void the_other_one_may_report_first(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	for (unsigned int i = 0; i < 100; i++) {
		operator_does(&a, "x");
		tick();
	}
	ticks(10);
	member_changes_digest(&a.c);
	start_again(&b, true);
	member_changes_send(&b.c);
	deliver(&b, &a, SIZE_MAX);
	operator_does(&a, "next");
	ticks(5);
	assert_string_equal(b.done, "next ");
}

// A part of the first request has been sent when there is no room for it in the journal any more.
static void parts_of_two_requests_are_not_joined(void **state)
{
	static char text[60000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	connect_them(true);
	ticks(3);
	for (unsigned int i = 0; i < 20; i++) {
		struct control_request asked = {.text = text, .from = &a};

		member_changes_note(&a.c, &asked, false, "test", text);
		if (i == 0)
			tick();
	}
	ticks(300);
	assert_string_equal(b.done, "");
	operator_does(&a, "next");
	ticks(3);
	assert_string_equal(b.done, "next ");
}

static void a_refusal_is_reported(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	b.refusal = "change:1: sa \"x\" is there already\nmore\n";
	operator_does(&a, "a1");
	ticks(3);
	assert_string_equal(refused, "change:1: sa \"x\" is there already");
	operator_does(&a, "a2");
	ticks(3);
	assert_string_equal(b.done, "a2 ");
}

static void malformed_lines_are_not_taken(void **state)
{
	static const char *const lines[] = {"changes", "changes 0 0 0", "changes 1 2",
		"changes 1 2 3 4", "changes x 0 0", "same", "same 1 2", "same -1", "change 1 0 4",
		"refused", "chang 1 0 4 00", ""};

	(void)state;
	connect_them(true);
	ticks(3);
	for (unsigned int i = 0; i < RTE_DIM(lines); i++)
		assert_false(member_changes_learn(&b.c, lines[i]));
}

// Of numbers and roles.
static void other_lines_come_first(void **state)
{
	(void)state;
	connect_them(true);
	ticks(3);
	waiting = CHANNEL_BULK_MAX;
	operator_does(&a, "a1");
	ticks(3);
	assert_string_equal(b.done, "");
	waiting = 0;
	ticks(3);
	assert_string_equal(b.done, "a1 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		changes_test(each_has_the_changes_of_the_other),
		changes_test(those_without_a_connection_follow),
		changes_test(none_is_made_twice_or_in_part),
		changes_test(a_process_that_was_started_again_gets_all),
		changes_test(those_of_a_process_that_has_ended_are_made),
		changes_test(a_file_that_has_them_gets_none),
		changes_test(a_reload_begins_a_journal),
		changes_test(a_reload_loses_none_that_wait),
		changes_test(more_than_fit_wait),
		changes_test(a_journal_without_its_begin_is_not_sent),
		changes_test(the_begin_is_tried_again),
		changes_test(the_other_one_may_report_first),
		changes_test(parts_of_two_requests_are_not_joined),
		changes_test(a_refusal_is_reported),
		changes_test(malformed_lines_are_not_taken),
		changes_test(other_lines_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
