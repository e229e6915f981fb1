// SPDX-License-Identifier: BSD-3-Clause
// Values of a group that a member of a fleet refuses: damaged ones, those of another configuration,
// and older ones than it has seen.
#include "collect.h"
#include "fleet_desk.h"

#define BLOCK NUMBER_BLOCK_FLEET
#define TURN  NUMBER_FLEET_TURN

// Nothing else shows that, if another key was made in the same moment.
static void a_deleted_key_is_noticed_by_its_owner(void **state)
{
	(void)state;
	take();
	atomic_store(&desk_sa_out("out-6")->seq, BLOCK - BLOCK / 4);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	reply("{\"header\":{\"revision\":\"99\"},\"responses\":[{\"response_range\":{}}]}");
	wait_for(ETCD_TXN);
	assert_non_null(strstr(body, "\"min_mod_revision\":\"1\""));
	reply_keys(ME | THEM, NULL);
	assert_string_equal(group()->fleet.refused, "its key is missing");
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_true(is_replacing() || is_replaced_in(3000, ME | THEM, NULL));
}

// After a restored backup revisions are used again.
static void another_value_of_the_same_revision_is_noticed(void **state)
{
	char *value;

	(void)state;
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	value = value_of("other", OTHER, group()->fleet.turn, 3 * BLOCK, 1000, 0);
	revision = group()->fleet.revision - 1;
	reply_keys(ME | THEM, value);
	free(value);
	assert_string_equal(group()->fleet.refused, "it is older than one before");
	assert_int_equal(group()->role, CONF_STANDBY);
}

// Its configuration is another one: that does not make the group free.
static void a_living_owner_whose_value_is_refused_is_left_alone(void **state)
{
	static const char value[] = "culvert 1 9 other 9\nout 0011223344556677 2 1\n";

	(void)state;
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	reply_keys(ME | THEM, value);
	assert_string_equal(group()->fleet.refused, "it has an SA that this gateway lacks");
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_false(is_replaced_in(8000, ME | THEM, value));
}

// An active member that was cut off returns: the value is not for it, but right. Another one has
// had the group meanwhile, and may have accepted packets.
static void check_silenced(const char *value, const char *why)
{
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	reply_keys(ME, value);
	assert_string_equal(group()->fleet.refused, why);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_false(is_replaced_in(8000, ME, value));
}

static void a_former_owner_with_more_sas_silences(void **state)
{
	(void)state;
	check_silenced("culvert 1 9 other 9\nout 0011223344556677 2 1\n",
		"it has an SA that this gateway lacks");
}

static void a_group_given_up_with_more_sas_silences(void **state)
{
	(void)state;
	check_silenced("culvert 1 9 - 0\nout 0011223344556677 2 1\n",
		"it has an SA that this gateway lacks");
}

static void a_former_owner_of_another_version_silences(void **state)
{
	(void)state;
	check_silenced("culvert 2 9 other 9\n", "it is of another version of Culvert");
}

// Also by command: the bounds of the owner are not known.
static void check_not_taken_by_command(const char *value)
{
	const char *why;

	reply_keys(ME | THEM, value);
	assert_non_null(group()->fleet.refused);
	assert_false(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_string_equal(why, group()->fleet.refused);
}

static void a_living_owner_whose_bounds_are_not_known_is_left_alone(void **state)
{
	(void)state;
	join();
	check_not_taken_by_command("culvert 2 9 other 9\n");
	check_not_taken_by_command("culvert 1 9 other 9\nout 1 2 3\n");
}

// The next owner would accept packets of former ones again.
static void a_bound_that_no_window_reaches_is_refused(void **state)
{
	char *value = value_of("other", OTHER, 5, 3 * BLOCK, UINT64_C(1) << 45, 0);

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_string_equal(group()->fleet.refused, "a number is too high");
	free(value);
}

// Also if the value has a line before it that is refused for another reason.
static void a_bound_that_no_window_reaches_is_not_learnt(void **state)
{
	char *value = value_of("other", OTHER, 5, 3 * BLOCK, UINT64_C(1) << 45, 0), *more;
	const char *lines = strchr(value, '\n') + 1;

	(void)state;
	join();
	assert_true(asprintf(&more, "%.*sout 0011223344556677 2 1\n%s", (int)(lines - value), value,
			    lines) > 0);
	reply_keys(ME | THEM, more);
	assert_string_equal(group()->fleet.refused, "it has an SA that this gateway lacks");
	assert_int_equal(desk_sa_in("in-6")->sa.record->learnt, 0);
	free(more);
	free(value);
}

// The value is refused, and its group is not taken although its owner has gone.
static void check_refused(const char *value, const char *why)
{
	reply_keys(ME, value);
	assert_string_equal(group()->fleet.refused, why);
	assert_false(is_replaced_in(8000, ME, value));
	assert_int_equal(group()->role, CONF_STANDBY);
}

static void values_are_refused(void **state)
{
	char *value = value_of("other", OTHER, 5, 3 * BLOCK, 1000, 0), *bad;
	const char *why;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_null(group()->fleet.refused);
	check_refused("nonsense", "it is no value of Culvert");
	check_refused("culvert 2 6 other 9\n", "it is of another version of Culvert");
	check_refused("culvert 1 6 other\n", "its first line is damaged");
	check_refused("culvert 1 9223372036854775808 other 9\n", "its first line is damaged");
	check_refused("culvert 1 4294967302 other 9\n", "a number is too high");
	check_refused("culvert 1 6 other 9\nout 1 2 3\n", "a line is damaged");
	check_refused("culvert 1 6 other 9\n", "it lacks an SA that it had");
	check_refused("culvert 1 7 other 9\nout 0011223344556677 2 1\n",
		"it has an SA that this gateway lacks");
	assert_false(fleet_order(&desk, "main", CONF_ACTIVE, &why)); // another configuration
	assert_string_equal(why, "it has an SA that this gateway lacks");
	check_refused(value, "it is older than one before");
	bad = value_of("other", OTHER, 8, 2 * BLOCK, 1000, 0);
	check_refused(bad, "its numbers go backwards");
	free(bad);
	bad = value_of("other", OTHER, 9, 3 * BLOCK, 999, 0);
	check_refused(bad, "its numbers go backwards");
	free(bad);
	bad = value_of("other", OTHER, 10, UINT64_MAX, 1000, 0);
	check_refused(bad, "a number is too high");
	reply_keys(ME, NULL); // all keys are read next
	check_refused(NULL, "its key is missing");
	// A command takes it all the same, above all numbers that were seen.
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_true(is_replaced_in(3000, ME, NULL));
	free(bad);
	bad = value_asked();
	assert_non_null(strstr(bad, "culvert 1 8 culvert 7\n"));
	reply_replaced(true, bad);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), 2 * TURN - 1);
	free(bad);
	free(value);
}

// After a restored backup another value can have the revision that this member knows.
static void a_transaction_compares_the_value(void **state)
{
	char *value = value_of("-", 0, 5, 3 * BLOCK, 1000, 77), *compared;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(is_replaced_in(3000, ME | THEM, value));
	compared = value_compared();
	assert_string_equal(compared, value);
	free(compared);
	free(value);
}

static void the_owner_writes_a_damaged_value_again(void **state)
{
	char *value;

	(void)state;
	take();
	while (is_replacing()) {
		value = value_asked();
		reply_replaced(true, value);
		free(value);
	}
	reply_keys(ME | THEM, "nonsense");
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_true(is_replacing() || is_replaced_in(3000, ME | THEM, "nonsense"));
	value = value_asked();
	reply_replaced(true, value);
	free(value);
	assert_null(group()->fleet.refused);
	assert_int_equal(group()->role, CONF_ACTIVE);
}

// --- configurations of members ---

static void check_differs(unsigned int row, const char *lists)
{
	struct fleet_view v;

	assert_true(collect_fleet(&v, &desk, row));
	assert_string_equal(v.differs, lists);
}

static void lists_that_differ_are_shown(void **state)
{
	char *text, *value;

	(void)state;
	tick();
	assert_non_null(strstr(desk.digests.text, "groups="));
	assert_true(asprintf(&text, "culvert 1 0.1 other 100 serves %s", desk.digests.text) > 0);
	their_text = text;
	join();
	reply_keys(ME | THEM | UNREADABLE, NULL);
	check_differs(0, "");
	check_differs(1, "");
	check_differs(2, ""); // it cannot be read
	fleet_reload(
		"fleet = { member = 1; endpoints = [ \"http://10.9.0.1:2379\" ]; };\n"
		"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; weight = 2; } );\n",
		"");
	desk_now += 1000; // not every change is looked at at once
	value = description_asked();
	assert_non_null(strstr(value, "culvert 100 serves "));
	assert_non_null(strstr(value, desk.digests.text));
	check_differs(1, "groups");
	free(value);
	free(text);
}

static void digests_that_cannot_be_read_are_those_of_another_version(void **state)
{
	static const char *const texts[] = {
		"", " ", " groups", " groups=", " =1", " groups=1  sas=2"};
	struct fleet_view v;
	char text[64];

	(void)state;
	join();
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		snprintf(text, sizeof(text), "culvert 1 0.1 other 100 serves%s", texts[i]);
		their_text = text;
		reply_keys(ME | THEM, NULL);
		assert_true(collect_fleet(&v, &desk, 1));
		assert_string_equal(v.version, "");
		assert_int_equal(v.weight, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fleet_test(a_deleted_key_is_noticed_by_its_owner),
		fleet_test(another_value_of_the_same_revision_is_noticed),
		fleet_test(a_living_owner_whose_value_is_refused_is_left_alone),
		fleet_test(a_former_owner_with_more_sas_silences),
		fleet_test(a_group_given_up_with_more_sas_silences),
		fleet_test(a_former_owner_of_another_version_silences),
		fleet_test(a_living_owner_whose_bounds_are_not_known_is_left_alone),
		fleet_test(a_bound_that_no_window_reaches_is_refused),
		fleet_test(a_bound_that_no_window_reaches_is_not_learnt),
		fleet_test(values_are_refused),
		fleet_test(a_transaction_compares_the_value),
		fleet_test(the_owner_writes_a_damaged_value_again),
		fleet_test(lists_that_differ_are_shown),
		fleet_test(digests_that_cannot_be_read_are_those_of_another_version),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
