// SPDX-License-Identifier: BSD-3-Clause
// Lines of the other member of a pair about groups, without a channel: both are active, and the
// other one gives up.
#include <inttypes.h>

#include "channel.h"
#include "desk.h"
#include "line.h"
#include "member_changes.h"
#include "member_lines.h"
#include "role.h"

#define GROUP                                                                                      \
	"pair = { member = 1; };"                                                                  \
	"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; } );"

static const char *line; // the next one; NULL: there is none
static uint64_t connection = 1;

bool __wrap_channel_send(struct channel *ch, const char *text, size_t len);
bool __wrap_channel_receive(struct channel *ch, char text[LINE_LEN_MAX]);
size_t __wrap_channel_waiting(struct channel *ch);
uint64_t __wrap_channel_epoch(struct channel *ch);
void __wrap_channel_state(struct channel *ch, struct channel_state *s);

bool __wrap_channel_send(struct channel *ch, const char *text, size_t len)
{
	(void)ch;
	assert_int_equal(strlen(text), len);
	return true;
}

bool __wrap_channel_receive(struct channel *ch, char text[LINE_LEN_MAX])
{
	(void)ch;
	if (line == NULL)
		return false;
	snprintf(text, LINE_LEN_MAX, "%s", line);
	line = NULL;
	return true;
}

size_t __wrap_channel_waiting(struct channel *ch)
{
	(void)ch;
	return CHANNEL_BULK_MAX;
}

uint64_t __wrap_channel_epoch(struct channel *ch)
{
	(void)ch;
	return connection;
}

void __wrap_channel_state(struct channel *ch, struct channel_state *s)
{
	(void)ch;
	*s = (struct channel_state){.config = "sas=1"};
}

static int begin(void **state)
{
	static int channel;

	desk_begin(state);
	desk_reload(GROUP, "");
	desk.member.channel = (struct channel *)&channel;
	desk.member.changes = member_changes_new();
	assert_non_null(desk.member.changes);
	desk_forget();
	return 0;
}

static int end(void **state)
{
	member_changes_free(desk.member.changes);
	desk.member.channel = NULL;
	return desk_end(state);
}

static void receive(const char *text)
{
	line = text;
	desk_now += 100;
	member_lines_tick(&desk, desk_now);
	assert_null(line);
}

static bool continues(void)
{
	return desk.groups.takeover_ms > desk_now;
}

static void test_both_active(void **state)
{
	(void)state;
	receive("group main standby 0 500");
	receive("group main active 1 500");
	desk_expect_event("event=group_twice\tseverity=error\tgroup=main");
	receive("group main active 1 500");
	desk_expect_no_event();
	assert_false(continues());
	receive("group main standby 2 500");
	assert_true(continues());
}

// It was active, and gave up, while there was no connection.
static void test_both_were_active(void **state)
{
	(void)state;
	receive("group main standby 4 500");
	desk.groups.takeover_ms = 0;
	receive("group main standby 4 500");
	assert_false(continues());
	connection++;
	receive("group main standby 6 500");
	assert_true(continues());
	desk.groups.takeover_ms = 0;
	connection++;
	receive("group main standby 6 500");
	assert_false(continues());
}

// This one is standby: the takeover is by command.
static void test_standby(void **state)
{
	(void)state;
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	receive("group main active 1 500");
	receive("group main standby 2 500");
	assert_false(continues());
}

static bool is_active(void)
{
	return desk.groups.item[0].role == CONF_ACTIVE;
}

// The one that has been active for longer gives up, once.
static void test_older_one_gives_up(void **state)
{
	(void)state;
	desk_wait(10000);
	receive("group main active 1 500");
	desk_wait(4800);
	assert_true(is_active());
	desk_wait(300);
	assert_false(is_active());
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now));
	receive("group main active 1 6000");
	desk_wait(50000);
	assert_true(is_active());
}

static void test_newer_one_stays(void **state)
{
	(void)state;
	desk_wait(10000);
	receive("group main active 1 500000");
	desk_wait(20000);
	assert_true(is_active());
}

// At once: member 2 gives up, and this is member 1.
static void test_equal_ages(void **state)
{
	char text[64];

	(void)state;
	desk_wait(10000);
	snprintf(text, sizeof(text), "group main active 1 %" PRIu64,
		desk_now - desk.groups.item[0].since_ms + 600);
	receive(text);
	desk_wait(20000);
	assert_true(is_active());
	desk.conf->pair_member = 2;
	desk_wait(100);
	assert_false(is_active());
}

static void test_malformed(void **state)
{
	static const char *const text[] = {"group main standby", "group main standby 1",
		"group main standby -1 1", "group main standby 4294967296 1",
		"group main standby 1 1 1", "group main standby 1 -1", "group main active x 1",
		"group main drained 1 1", "group other standby 1 1", "group", "group main", ""};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(text); i++)
		receive(text[i]);
	assert_false(desk.groups.item[0].other_known);
	assert_false(continues());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_active, begin, end),
		cmocka_unit_test_setup_teardown(test_both_were_active, begin, end),
		cmocka_unit_test_setup_teardown(test_standby, begin, end),
		cmocka_unit_test_setup_teardown(test_older_one_gives_up, begin, end),
		cmocka_unit_test_setup_teardown(test_newer_one_stays, begin, end),
		cmocka_unit_test_setup_teardown(test_equal_ages, begin, end),
		cmocka_unit_test_setup_teardown(test_malformed, begin, end),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
