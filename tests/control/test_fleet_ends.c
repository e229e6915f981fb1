// SPDX-License-Identifier: BSD-3-Clause
// Moves of groups that end early, are decided while other groups move, or concern a member that
// etcd did not answer: that a group has an owner all the time, and stations know it.
#include "fleet_desk.h"

#include <inttypes.h>

#include "group.h"

#define FLEET_OF(group)                                                                            \
	"fleet = { member = 1; endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; };\n"          \
	"groups = ( { name = \"main\"; addresses = [ \"2001:db8:f::1\" ]; " group "} );\n"
#define THEIRS "}, { name = \"theirs\"; addresses = [ \"10.1.0.1\" ]; weight = 5; "
#define ASKED  "culvert 1 5 other 9\nnext culvert 7\n"
#define GIVEN  "culvert 1 7 - 0\nready culvert 7\n"

// --- the next owner ---

// It is asked, and answers; the group is given up for it. Whether it takes that at once.
static bool takes_at_once(void)
{
	char *value = value_with(ASKED, 50);
	bool takes;

	assert_true(is_replacing() || is_replaced_in(1000, ME | THEM, value));
	check_asked("culvert 1 6 other 9\nready culvert 7\n");
	etcd_does_it();
	free(value);
	value = value_with(GIVEN, 77);
	takes = is_replacing() || is_replaced_in(200, ME | THEM, value);
	free(value);
	return takes;
}

static void it_takes_a_group_that_is_meant_for_it_after_a_gap(void **state)
{
	(void)state;
	join();
	reply_keys_with(ME | THEM, "culvert 1 4 other 9\n", 50);
	fail_for(2500); // of 4 s
	assert_true(takes_at_once());
}

// The command to give a group up is older than the one that asks for it.
static void it_takes_a_group_back_that_it_has_given_up(void **state)
{
	const char *why;

	(void)state;
	take();
	no_writes();
	assert_true(fleet_order(&desk, "main", CONF_STANDBY, &why));
	assert_true(is_replaced_in(1000, ME | THEM, taken));
	etcd_does_it();
	assert_true(takes_at_once());
}

static void a_member_that_drains_does_nothing_that_was_ordered(void **state)
{
	char *value = value_with("culvert 1 5 other 9\n", 50);
	const char *why;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	taken = value;
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_true(fleet_drain(&desk, true));
	free(description_written());
	assert_false(is_replaced_in(3000, ME | THEM, value));
}

// It has promised to take it: nobody else might.
static void it_takes_a_group_that_is_meant_for_it_while_it_drains(void **state)
{
	char *value = value_with(ASKED, 50);

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(is_replacing() || is_replaced_in(1000, ME | THEM, value));
	etcd_does_it();
	free(value);
	taken = value_with(GIVEN, 77);
	assert_true(fleet_drain(&desk, true));
	free(description_written());
	assert_true(is_replaced_in(500, ME | THEM, taken));
	check_asked("culvert 1 8 culvert 7\nout");
}

// --- the owner ---

static void it_keeps_a_group_whose_next_owner_drains(void **state)
{
	char *ready;

	(void)state;
	ready = move_leave();
	their_text = "culvert 1 0.1 other 100 drains groups=0";
	assert_true(is_replaced_in(1000, ME | THEM, ready));
	check_asked("culvert 1 4 culvert 7\nout");
	assert_int_equal(group()->role, CONF_ACTIVE);
	free(ready);
}

static char *stop_values[4];
static unsigned int stop_n;

// The next owner has answered meanwhile, so that the first transaction is refused.
static char *answer_at_the_stop(void)
{
	char *ready, *text;

	if (asked != ETCD_TXN || stop_n == COUNT_OF(stop_values))
		return strdup("{\"header\":{}}");
	stop_values[stop_n++] = value_asked();
	if (stop_n > 1)
		return replaced_text(true, stop_values[stop_n - 1]);
	assert_true(asprintf(&ready, "culvert 1 9 culvert 7\n%s", strchr(taken, '\n') + 1) > 0);
	text = replaced_text(false, ready);
	free(ready);
	return text;
}

// It has no numbers on its disk yet, and so has used none above those of the former owner.
static void a_stop_gives_up_all_numbers_of_others(void **state)
{
	const uint64_t used = 2 * NUMBER_BLOCK_FLEET - 1;
	struct sa_out *sa = desk_sa_out("out-6");
	char *value = value_of("-", 0, 5, used, NUMBER_LEAP_ESN / 4, used), last[64];

	(void)state;
	join();
	sa_out_allow(sa, sa_out_seq(sa));
	assert_true(is_replaced_in(3000, ME | THEM, value));
	free(value);
	taken = value_asked();
	reply_replaced(true, taken);
	no_writes();
	assert_int_equal(group()->role, CONF_ACTIVE);
	sa_out_allow(sa, 100);
	desk.fleet->is_up = true;
	stop_n = 0;
	etcd_answer = answer_at_the_stop;
	fleet_stop(&desk);
	assert_int_equal(fleet_start(&desk), 0);
	assert_int_equal(stop_n, 2);
	assert_non_null(strstr(stop_values[1], "culvert 1 10 - 0\n"));
	snprintf(last, sizeof(last), " %" PRIu64 "\n", used); // of the first line, the outbound one
	assert_non_null(strstr(stop_values[1], last));
	while (stop_n > 0)
		free(stop_values[--stop_n]);
}

// The other one has announced the addresses: stations send to it.
static void it_announces_a_group_that_it_keeps(void **state)
{
	char *value;

	(void)state;
	move_ask();
	value = value_asked();
	reply_replaced(true, value);
	desk_wait(1500);
	desk_forget();
	assert_true(is_replaced_in(1000, ME | THEM, value));
	check_asked("culvert 1 3 culvert 7\nout");
	assert_int_not_equal(desk_n_sent, 0);
	assert_in_range(group()->defend_ms, 0, desk_now);
	free(value);
}

static void an_order_to_keep_a_group_ends_its_move(void **state)
{
	const char *why;
	char *ready;

	(void)state;
	ready = move_leave();
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_false(group()->leaving);
	assert_true(is_replaced_in(1000, ME | THEM, ready));
	check_asked("culvert 1 4 culvert 7\nout");
	free(ready);
}

// It cannot know whether the next one has answered.
static void a_gap_does_not_count_against_the_next_owner(void **state)
{
	char *value;

	(void)state;
	move_ask();
	value = value_asked();
	reply_replaced(true, value);
	fail_for(3000);
	assert_int_equal(group()->fleet.to, 0);
	assert_true(is_replaced_in(1000, ME | THEM, value));
	check_asked("culvert 1 3 culvert 7\nout");
	free(value);
	value = value_asked();
	reply_replaced(true, value);
	assert_true(is_replaced_in(1000, ME | THEM, value)); // it is asked again
	check_asked("next other 9\n");
	free(value);
}

// --- loads ---

// This member has both groups. Which member would get each if they are given up now?
static void two_groups_are_given_up_for_two_members(void **state)
{
	struct owned_group *g;

	(void)state;
	fleet_reload(FLEET_OF(THEIRS), "");
	third_text = "culvert 1 0.1 third 100 serves groups=0";
	take();
	no_writes();
	their_group = "culvert 1 1 culvert 7\n";
	assert_false(is_replaced_in(300, ME | THEM | UNREADABLE, taken));
	g = desk.groups.item;
	assert_int_equal(g[1].role, CONF_ACTIVE);
	fleet_move_name_next(&desk, &g[1]);
	fleet_move_name_next(&desk, &g[0]);
	assert_int_not_equal(g[0].fleet.to, 0);
	assert_int_not_equal(g[1].fleet.to, 0);
	assert_int_not_equal(g[0].fleet.to, g[1].fleet.to);
}

// The other member has no group yet: one was just given up for it.
static void a_group_that_was_given_up_counts_for_the_next_one(void **state)
{
	const char *why;

	(void)state;
	fleet_reload(FLEET_OF(THEIRS), "");
	their_group = "culvert 1 1 - 0\nready other 9\n";
	third_text = "culvert 1 0.1 third 100 serves groups=0";
	take();
	no_writes();
	assert_true(fleet_drain_group(&desk, "main", &why));
	assert_true(is_replaced_in(1000, ME | THEM | UNREADABLE, taken));
	check_asked("next third 11\n");
}

// --- numbers ---

// The former owner has used most of its block, so that its bound is a turn further.
static void the_peer_notices_no_move(void **state)
{
	const uint64_t used = NUMBER_BLOCK_FLEET + NUMBER_BLOCK_FLEET * 3 / 4;
	char *value = value_of("other", OTHER, 4, NUMBER_FLEET_TURN + 2 * NUMBER_BLOCK_FLEET - 1,
		NUMBER_LEAP_ESN / 4, used);

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_false(is_replaced_in(2000, ME | THEM, value));
	free(value);
	value = value_of("-", 0, 5, NUMBER_FLEET_TURN + 2 * NUMBER_BLOCK_FLEET - 1,
		NUMBER_LEAP_ESN / 4, used);
	assert_true(is_replaced_in(2000, ME | THEM, value));
	etcd_does_it();
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_in_range(sa_out_seq(desk_sa_out("out-6")) + 1 - used, 1, NUMBER_NOTICED_ESN);
	assert_false(desk_sa_out("out-6")->has_taken_over);
	free(value);
}

// It has given the group up before, so that others take it for some seconds.
static void it_takes_a_group_that_another_one_leaves_to_it(void **state)
{
	const char *why;
	char *value = value_with("culvert 1 9 - 0\nready culvert 7\n", 50);

	(void)state;
	take();
	no_writes();
	assert_true(fleet_order(&desk, "main", CONF_STANDBY, &why));
	assert_true(is_replaced_in(1000, ME | THEM, taken));
	etcd_does_it();
	reply_keys(ME | THEM, value);
	assert_true(is_replacing() || is_replaced_in(500, ME | THEM, value));
	check_asked("culvert 1 10 culvert 7\n");
	free(value);
}

// One that was not ready in a move is better than none.
static void a_member_that_drains_now_has_no_choice(void **state)
{
	(void)state;
	take();
	no_writes();
	desk.fleet->shunned[2] = OTHER;
	desk.fleet->shunned_ms[2] = desk_now + 60000;
	assert_true(fleet_drain_now(&desk));
	free(description_written());
	while (!is_replacing())
		assert_true(is_replaced_in(1000, ME | THEM, taken));
	check_asked(" - 0\nready other 9\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fleet_test(it_takes_a_group_that_is_meant_for_it_after_a_gap),
		fleet_test(it_takes_a_group_back_that_it_has_given_up),
		fleet_test(a_member_that_drains_does_nothing_that_was_ordered),
		fleet_test(it_takes_a_group_that_is_meant_for_it_while_it_drains),
		fleet_test(it_keeps_a_group_whose_next_owner_drains),
		fleet_test(a_stop_gives_up_all_numbers_of_others),
		fleet_test(it_announces_a_group_that_it_keeps),
		fleet_test(an_order_to_keep_a_group_ends_its_move),
		fleet_test(a_gap_does_not_count_against_the_next_owner),
		fleet_test(two_groups_are_given_up_for_two_members),
		fleet_test(a_group_that_was_given_up_counts_for_the_next_one),
		fleet_test(the_peer_notices_no_move),
		fleet_test(it_takes_a_group_that_another_one_leaves_to_it),
		fleet_test(a_member_that_drains_now_has_no_choice),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
