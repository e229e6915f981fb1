// SPDX-License-Identifier: BSD-3-Clause
// How a group of a fleet moves from its owner to another member: for a command, for even loads, or
// to its pin; and that each step ends, whoever fails.
#include "fleet_desk.h"
#include "group.h"

#define FLEET_OF(fleet, group)                                                                     \
	"fleet = { member = 1; endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; " fleet        \
	"};\ngroups = ( { name = \"main\"; addresses = [ \"2001:db8:f::1\" ]; " group "} );\n"
#define THEIRS "}, { name = \"theirs\"; addresses = [ \"10.1.0.1\" ]; weight = 5; "

// --- the next owner ---

static void it_answers_and_takes_the_group_at_once(void **state)
{
	const uint64_t before = sa_out_seq(desk_sa_out("out-6")); // no other number is above 77
	char *value = value_with("culvert 1 5 other 9\nnext culvert 7\n", 50), *own;
	uint64_t since;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(group()->expected);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_true(is_replacing() || is_replaced_in(100, ME | THEM, value));
	own = value_asked();
	assert_non_null(strstr(own, "culvert 1 6 other 9\nready culvert 7\n"));
	assert_string_equal(strstr(own, "out "), strstr(value, "out ")); // the owner's numbers
	reply_replaced(true, own);
	free(own);
	free(value);
	since = desk_now;
	reply_keys_with(ME | THEM, "culvert 1 7 - 0\nready culvert 7\n", 77);
	assert_true(group()->expected);
	assert_true(is_replacing());
	check_asked("culvert 1 8 culvert 7\nout");
	assert_true(desk_now - since <= 100); // keys are read more often
	etcd_does_it();
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_false(group()->expected);
	assert_int_equal(replay_top(&desk_sa_in("in-6")->sa.per_packet.replay), 77);
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), before);
}

// The owner takes its own routes back as soon as it reads the answer.
static void routers_have_its_routes_before_it_answers(void **state)
{
	char *value = value_with("culvert 1 5 other 9\nnext culvert 7\n", 50);

	(void)state;
	fleet_reload(FLEET_OF("", "") "announce = { metric = 100; };\n", "");
	join();
	reply_keys(ME | THEM, value);
	assert_true(group()->expected);
	assert_false(is_replacing() || is_replaced_in(100, ME | THEM, value));
	assert_true(is_replaced_in(150, ME | THEM, value));
	check_asked("culvert 1 6 other 9\nready culvert 7\n");
	free(value);
}

// It may be cut off from etcd, and has the group all the same.
static void it_expects_a_group_once(void **state)
{
	char *value = value_with("culvert 1 5 other 9\nnext culvert 7\n", 50);

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(group()->expected);
	fail_for(2000);
	desk_wait(100);
	assert_false(group()->expected);
	assert_false(is_replaced_in(3000, ME | THEM, value));
	assert_false(group()->expected);
	free(value);
}

static void it_forgets_a_move_that_ended(void **state)
{
	(void)state;
	join();
	reply_keys_with(ME | THEM, "culvert 1 5 other 9\nnext culvert 7\n", 50);
	assert_true(group()->expected);
	while (is_replacing())
		reply_replaced(false, taken != NULL ? taken : "culvert 1 6 other 9\n");
	reply_keys_with(ME | THEM, "culvert 1 6 other 9\n", 50);
	assert_false(group()->expected);
	assert_int_equal(group()->role, CONF_STANDBY);
}

static void it_takes_a_group_whose_owner_fails_then(void **state)
{
	char *value = value_with("culvert 1 5 other 9\nnext culvert 7\n", 50);

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(is_replacing() || is_replaced_in(100, ME | THEM, value));
	etcd_does_it();
	free(value);
	value = value_with("culvert 1 6 other 9\nready culvert 7\n", 50);
	assert_true(is_replaced_in(1000, ME, value));
	check_asked("culvert 1 7 culvert 7\nout");
	free(value);
}

// Given up for another member, which has it first, but not for long.
static void a_group_that_another_one_should_take_waits(void **state)
{
	char *value = value_with("culvert 1 5 - 0\nready other 9\n", 50);

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_false(is_replaced_in(300, ME | THEM, value));
	assert_true(is_replaced_in(600, ME | THEM, value));
	free(value);
}

static void an_order_does_not_wait_for_the_owner(void **state)
{
	char *value = value_with("culvert 1 5 other 9\n", 50);
	const char *why;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	free(value);
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	value = value_with("culvert 1 6 other 9\nnext culvert 7\n", 50);
	reply_keys(ME | THEM, value);
	assert_false(group()->expected);
	assert_true(is_replacing() || is_replaced_in(300, ME | THEM, value));
	check_asked("culvert 1 7 culvert 7\nout");
	free(value);
}

// --- the owner ---

static void it_hands_the_group_over(void **state)
{
	char *value, *ready;
	uint64_t since;

	(void)state;
	ready = move_leave();
	assert_int_equal(group()->role, CONF_ACTIVE); // routers send here for a moment
	since = desk_now;
	atomic_store(&desk_sa_out("out-6")->seq, 50);
	assert_true(is_replaced_in(1000, ME | THEM, ready));
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_in_range(desk_now - since, 100, 300);
	check_asked("culvert 1 4 - 0\nready other 9\nout");
	check_asked(" 50\n");
	value = value_asked();
	reply_replaced(true, value);
	assert_false(is_replaced_in(1500, ME | THEM, value)); // the other one has some time
	free(ready);
	free(value);
}

// It would lose the group for nothing.
static void it_keeps_the_group_if_the_next_owner_is_not_ready(void **state)
{
	char *value;

	(void)state;
	move_ask();
	value = value_asked();
	reply_replaced(true, value);
	assert_false(is_replaced_in(1500, ME | THEM, value));
	assert_true(is_replaced_in(1000, ME | THEM, value));
	free(value);
	check_asked("culvert 1 3 culvert 7\nout");
	value = value_asked();
	reply_replaced(true, value);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_string_equal(fleet_drain_state(&desk, group()), "waits");
	assert_false(is_replaced_in(50000, ME | THEM, value));
	assert_true(is_replaced_in(15000, ME | THEM, value)); // the same member again
	check_asked("next other 9\n");
	free(value);
}

// Nothing moves to that one for a minute, unless it starts again meanwhile.
static void it_asks_a_member_that_has_started_again(void **state)
{
	(void)state;
	move_ask();
	free(taken);
	taken = value_asked();
	reply_replaced(true, taken);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	check_asked("culvert 1 3 culvert 7\nout");
	free(taken);
	taken = value_asked();
	reply_replaced(true, taken);
	assert_false(is_replaced_in(5000, ME | THEM, taken));
	their_lease = 10;
	assert_true(is_replaced_in(1000, ME | THEM, taken));
	check_asked("next other 10\n");
}

static void it_keeps_the_group_if_the_next_owner_fails(void **state)
{
	char *ready;

	(void)state;
	ready = move_leave();
	assert_true(is_replaced_in(1000, ME, ready));
	check_asked("culvert 1 4 culvert 7\nout");
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_false(group()->leaving);
	free(ready);
}

// It could not write that it has given the group up.
static void it_keeps_the_group_without_etcd(void **state)
{
	(void)state;
	free(move_leave());
	desk_now += 250;
	fail_for(3000);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_false(group()->leaving);
}

static void a_third_one_takes_the_group_meanwhile(void **state)
{
	(void)state;
	move_ask();
	reply_keys_with(ME | THEM | UNREADABLE, "culvert 1 9 third 11\n", 0);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_int_equal(group()->fleet.to, 0);
}

static void a_group_that_is_given_up_has_a_next_owner(void **state)
{
	const char *why;

	(void)state;
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	assert_true(fleet_order(&desk, "main", CONF_STANDBY, &why));
	assert_true(is_replaced_in(1000, ME | THEM, taken));
	check_asked("culvert 1 2 - 0\nnext other 9\nout");
}

// --- which member has it ---

static bool is_described(const char *state)
{
	char *value = description_written();
	bool is = strstr(value, state) != NULL;

	free(value);
	return is;
}

static void a_member_that_drains_has_no_groups(void **state)
{
	const char *why;
	char *value, *ready;

	(void)state;
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	assert_true(fleet_drain(&desk, true));
	assert_true(is_described("culvert 100 drains"));
	desk.started_ms = 1;
	assert_string_equal(groups_state(&desk), "drains\n");
	while (!is_replacing())
		assert_true(is_replaced_in(1000, ME | THEM, taken));
	ready = answered("ready other 9\n");
	etcd_does_it();
	desk_forget();
	reply_keys(ME | THEM, ready);
	assert_true(is_replaced_in(1000, ME | THEM, ready));
	value = value_asked();
	reply_replaced(true, value);
	desk_expect_log("have all groups of \"culvert\"");
	assert_false(is_replaced_in(20000, ME, value)); // also without others
	assert_false(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_string_equal(why, "this member drains (culvertctl drain off)");
	assert_true(fleet_drain(&desk, false));
	free(value);
	value = value_with("culvert 1 9 - 0\n", 50);
	while (!is_replacing()) {
		keep();
		if (body != NULL && strstr(body, "requestPut") != NULL)
			reply("{\"header\":{\"revision\":\"99\"},\"succeeded\":true}");
		else if (body != NULL)
			reply_keys(ME, value);
		tick();
	}
	check_asked("culvert 1 10 culvert 7\n");
	free(ready);
	free(value);
}

// Nor does it wait for an answer. The next owner takes the group even if it drains by then.
static void a_member_that_drains_now_waits_for_nobody(void **state)
{
	(void)state;
	take();
	no_writes();
	assert_true(fleet_drain_now(&desk));
	assert_true(is_described("culvert 100 drains"));
	while (!is_replacing())
		assert_true(is_replaced_in(1000, ME | THEM, taken));
	assert_int_equal(group()->role, CONF_STANDBY);
	check_asked("culvert 1 2 - 0\nready other 9\nout");
	etcd_does_it();
	desk_expect_log("have all groups of \"culvert\"");
}

static void a_member_that_drains_now_keeps_what_nobody_takes(void **state)
{
	(void)state;
	their_text = "culvert 1 0.1 other 100 drains groups=0";
	take();
	no_writes();
	assert_true(fleet_drain_now(&desk));
	assert_true(is_described("culvert 100 drains"));
	assert_false(is_replaced_in(10000, ME | THEM, taken));
	assert_int_equal(group()->role, CONF_ACTIVE);
}

// No group moves to a member that drains, and none of those is free for it.
static void a_group_stays_if_no_other_member_takes_it(void **state)
{
	const char *why;

	(void)state;
	their_text = "culvert 1 0.1 other 100 drains groups=0";
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	assert_true(fleet_drain_group(&desk, "main", &why));
	assert_false(is_replaced_in(10000, ME | THEM, taken));
	assert_string_equal(fleet_drain_state(&desk, group()), "waits");
}

// It has twice the load of the other one, if that had the group.
static void check_rebalance(const char *fleet, unsigned int after_s)
{
	fleet_reload(fleet, "");
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	their_text = "culvert 1 0.1 other 200 serves groups=0"; // as of now
	if (after_s == 0) {
		assert_false(is_replaced_in(100000, ME | THEM, taken));
		return;
	}
	assert_false(is_replaced_in(1000 * after_s - 500, ME | THEM, taken));
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	check_asked("culvert 1 2 culvert 7\nnext other 9\nout");
}

static void loads_become_even_after_a_while(void **state)
{
	(void)state;
	check_rebalance(FLEET_OF("", ""), 30);
}

static void that_has_a_setting(void **state)
{
	(void)state;
	check_rebalance(FLEET_OF("rebalance = 5; ", ""), 5);
}

static void that_can_be_off(void **state)
{
	(void)state;
	check_rebalance(FLEET_OF("rebalance = 0; ", ""), 0);
}

static void the_fullest_member_moves_first(void **state)
{
	(void)state;
	fleet_reload(FLEET_OF("", THEIRS), "");
	their_group = "culvert 1 1 other 9\n";
	take();
	third_text = "culvert 1 0.1 third 200 serves groups=0"; // as of now
	assert_false(is_replaced_in(30300, ME | THEM | UNREADABLE, taken));
	assert_true(is_replaced_in(1000, ME | THEM | UNREADABLE, taken));
}

static void a_group_moves_to_its_pin(void **state)
{
	(void)state;
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	assert_false(is_replaced_in(40000, ME | THEM, taken));
	fleet_reload(FLEET_OF("", "pin = [ \"none\", \"other\", \"culvert\" ]; "), "");
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	check_asked("next other 9\n");
}

// A command has brought it here.
static void a_group_that_was_ordered_stays(void **state)
{
	char *value = value_with("culvert 1 5 other 9\n", 50), *own;
	const char *why;

	(void)state;
	their_text = "culvert 1 0.1 other 200 serves groups=0";
	join();
	reply_keys(ME | THEM, value);
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_true(is_replaced_in(1000, ME | THEM, value));
	own = value_asked();
	reply_replaced(true, own);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_false(is_replaced_in(60000, ME | THEM, own));
	their_text = "culvert 1 0.1 other 201 serves groups=0"; // until members change
	assert_true(is_replaced_in(35000, ME | THEM, own));
	check_asked("next other 9\n");
	free(own);
	free(value);
}

// The other one bears more, and takes the group first.
static void a_free_group_is_for_the_member_with_less_load(void **state)
{
	(void)state;
	their_text = "culvert 1 0.1 other 200 serves groups=0";
	join();
	reply_keys(ME | THEM, NULL);
	assert_false(is_replaced_in(300, ME | THEM, NULL));
	assert_true(is_replaced_in(600, ME | THEM, NULL)); // it does not
}

static void a_free_group_is_for_its_pin(void **state)
{
	(void)state;
	fleet_reload(FLEET_OF("", "pin = [ \"other\" ]; "), "");
	join();
	reply_keys(ME | THEM, NULL);
	assert_false(is_replaced_in(300, ME | THEM, NULL));
	assert_true(is_replaced_in(600, ME | THEM, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fleet_test(it_answers_and_takes_the_group_at_once),
		fleet_test(it_expects_a_group_once),
		fleet_test(routers_have_its_routes_before_it_answers),
		fleet_test(it_asks_a_member_that_has_started_again),
		fleet_test(it_forgets_a_move_that_ended),
		fleet_test(it_takes_a_group_whose_owner_fails_then),
		fleet_test(a_group_that_another_one_should_take_waits),
		fleet_test(an_order_does_not_wait_for_the_owner),
		fleet_test(it_hands_the_group_over),
		fleet_test(it_keeps_the_group_if_the_next_owner_is_not_ready),
		fleet_test(it_keeps_the_group_if_the_next_owner_fails),
		fleet_test(it_keeps_the_group_without_etcd),
		fleet_test(a_third_one_takes_the_group_meanwhile),
		fleet_test(a_group_that_is_given_up_has_a_next_owner),
		fleet_test(a_member_that_drains_has_no_groups),
		fleet_test(a_member_that_drains_now_waits_for_nobody),
		fleet_test(a_member_that_drains_now_keeps_what_nobody_takes),
		fleet_test(a_group_stays_if_no_other_member_takes_it),
		fleet_test(loads_become_even_after_a_while),
		fleet_test(that_has_a_setting),
		fleet_test(that_can_be_off),
		fleet_test(the_fullest_member_moves_first),
		fleet_test(a_group_moves_to_its_pin),
		fleet_test(a_group_that_was_ordered_stays),
		fleet_test(a_free_group_is_for_the_member_with_less_load),
		fleet_test(a_free_group_is_for_its_pin),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
