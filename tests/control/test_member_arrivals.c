// SPDX-License-Identifier: BSD-3-Clause
// Requests that arrive from the other member of a pair: parts in a wrong order, lines that are
// malformed, requests that are no changes, and too many of them.
#include <inttypes.h>

#include "hex.h"
#include "member_arrivals.h"
#include "test.h"

static struct member_arrivals arrivals;

static int begin(void **state)
{
	(void)state;
	member_arrivals_init(&arrivals);
	member_arrivals_process(&arrivals, 7);
	return 0;
}

static int end(void **state)
{
	(void)state;
	member_arrivals_fini(&arrivals);
	return 0;
}

#define arrivals_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

// The next request is this text; NULL: there is none.
static void expect_next(const char *text)
{
	struct member_request *r = member_arrivals_take(&arrivals);

	if (text == NULL) {
		assert_null(r);
		return;
	}
	assert_non_null(r);
	assert_string_equal(r->text, text);
	member_request_free(r);
}

static void malformed_parts_are_refused(void **state)
{
	static const char *const lines[] = {
		"1 0 4", "1 0 4 xx", "1 0 65537 00", "1 0 4 00 ", "x 0 4 00", "1 x 4 00", "1"};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(lines); i++)
		assert_false(member_arrivals_part(&arrivals, lines[i]));
	expect_next(NULL);
}

static void other_parts_are_ignored(void **state)
{
	(void)state;
	assert_true(member_arrivals_part(&arrivals, "1 6 9 20610a"));             // not first
	assert_true(member_arrivals_part(&arrivals, "1 0 8 6368616e676520610a")); // too long
	assert_true(member_arrivals_part(&arrivals, "1 0 9 6368616e6765"));
	assert_true(member_arrivals_part(&arrivals, "1 6 8 20610a"));
	assert_true(member_arrivals_part(&arrivals, "1 6 9 20610"));
	expect_next(NULL);
	assert_true(member_arrivals_part(&arrivals, "1 6 9 20610a"));
	expect_next("change a\n");
}

static void send_request(uint64_t number, const char *text)
{
	char line[256], hex[200];

	hex_format(hex, (const uint8_t *)text, strlen(text));
	snprintf(line, sizeof(line), "%" PRIu64 " 0 %zu %s", number, strlen(text), hex);
	assert_true(member_arrivals_part(&arrivals, line));
}

// Such as a change of a role.
static void other_requests_are_not_served(void **state)
{
	(void)state;
	send_request(1, "group-active main");
	send_request(2, "new-keys reload discard");
	send_request(3, "new-keys new-keys change x\n");
	expect_next(NULL);
	send_request(4, "new-keys change x\n");
	expect_next("new-keys change x\n");
}

// However many there are, only as many wait as right ones of two processes. After one that was
// dropped none is taken, before another connection begins with it.
static void a_flood_is_bounded(void **state)
{
	(void)state;
	for (unsigned int i = 1; i < 10000; i++)
		send_request(i, "change x\n");
	for (unsigned int i = 0; i < 2 * MEMBER_AHEAD_MAX; i++)
		expect_next("change x\n");
	expect_next(NULL);
	send_request(10000, "change y\n");
	expect_next(NULL);
	member_arrivals_connected(&arrivals);
	send_request(2 * MEMBER_AHEAD_MAX + 1, "change z\n");
	expect_next("change z\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		arrivals_test(malformed_parts_are_refused),
		arrivals_test(other_parts_are_ignored),
		arrivals_test(other_requests_are_not_served),
		arrivals_test(a_flood_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
