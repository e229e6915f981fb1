// SPDX-License-Identifier: BSD-3-Clause
// Lines of the other member of a pair about groups, without a channel: both are active, and the
// other one gives up.
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
	receive("group main standby 0");
	receive("group main active 1");
	desk_expect_event("event=group_twice\tseverity=error\tgroup=main");
	receive("group main active 1");
	desk_expect_no_event();
	assert_false(continues());
	receive("group main standby 2");
	assert_true(continues());
}

// It was active, and gave up, while there was no connection.
static void test_both_were_active(void **state)
{
	(void)state;
	receive("group main standby 4");
	desk.groups.takeover_ms = 0;
	receive("group main standby 4");
	assert_false(continues());
	connection++;
	receive("group main standby 6");
	assert_true(continues());
	desk.groups.takeover_ms = 0;
	connection++;
	receive("group main standby 6");
	assert_false(continues());
}

// This one is standby: the takeover is by command.
static void test_standby(void **state)
{
	(void)state;
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	receive("group main active 1");
	receive("group main standby 2");
	assert_false(continues());
}

static void test_malformed(void **state)
{
	static const char *const text[] = {"group main standby", "group main standby -1",
		"group main standby 4294967296", "group main standby 1 2", "group main active x",
		"group main drained 1", "group other standby 1", "group", "group main", ""};

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
		cmocka_unit_test_setup_teardown(test_malformed, begin, end),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
