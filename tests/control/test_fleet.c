// SPDX-License-Identifier: BSD-3-Clause
// Who owns a group of a fleet, with answers of etcd that the test gives: a free group is taken, a
// living owner is left alone, the member that loses is silent, and values that are damaged or go
// backwards are refused.
#include <inttypes.h>

#include "event_log.h"
#include "fleet_desk.h"
#include "fleet_value.h"
#include "member_sa.h"

#define FLEET                                                                                      \
	"fleet = { endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; };\n"                      \
	"groups = ( { name = \"main\"; addresses = [ \"2001:db8:f::1\" ]; } );\n"
#define FLEET_4                                                                                    \
	"fleet = { endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; };\n"                      \
	"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; } );\n"
#define BLOCK NUMBER_BLOCK

static const struct owned_group *group(void)
{
	return &desk.groups.item[0];
}

static char *value_of(
	const char *owner, int64_t lease, uint64_t turn, uint64_t out, uint64_t in, uint64_t used)
{
	char name[MEMBER_SA_STRLEN], *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "culvert 1 %" PRIu64 " %s %" PRId64 "\n", turn, owner, lease);
	member_sa_write(name, &desk_sa_out("out-6")->sa);
	fprintf(f, "out %s %" PRIu64 " %" PRIu64 "\n", name, out, used);
	member_sa_write(name, &desk_sa_in("in-6")->sa);
	fprintf(f, "in %s %" PRIu64 " %" PRIu64 "\n", name, in, used);
	fclose(f);
	return text;
}

static char *taken; // the value of the group

// The group is free, and this member takes it.
static void take(void)
{

	join();
	reply_keys(ME | THEM, NULL);
	assert_true(is_replaced_in(3000, ME | THEM, NULL));
	taken = value_asked();
	reply_replaced(true, taken);
	assert_int_equal(group()->role, CONF_ACTIVE);
}

static void a_free_group_is_taken(void **state)
{
	struct sa_out *sa = desk_sa_out("out-6");

	(void)state;
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_int_equal(atomic_load(&sa->sa.per_packet.seq_limit), 0);
	take();
	assert_string_equal(group()->fleet.owner, "culvert");
	assert_int_equal(sa->seq_granted, BLOCK);
	assert_int_equal(
		atomic_load(&sa->sa.per_packet.seq_limit), RTE_MIN(BLOCK, sa->seq_reserved));
	assert_int_equal(desk_sa_out("out-4")->seq_granted, UINT64_MAX); // is of no group
}

// An SA with other settings is another one, and has no numbers before etcd has a bound for its key.
static void an_sa_waits_for_its_bound(void **state)
{
	(void)state;
	desk_reload(FLEET_4, "dscp = 5;");
	assert_int_equal(desk_sa_out("out-4")->seq_granted, 0);
	take();
	assert_int_equal(desk_sa_out("out-4")->seq_granted, BLOCK + SA_LEDGER_AHEAD);
	desk_reload(FLEET_4, "");
	assert_int_equal(desk_sa_out("out-4")->seq_granted, BLOCK + SA_LEDGER_AHEAD);
}

static void more_numbers_are_asked_for_in_time(void **state)
{
	struct sa_out *sa = desk_sa_out("out-6");
	char *value;

	(void)state;
	take();
	assert_false(is_replaced_in(8000, ME | THEM, taken));
	atomic_store(&sa->seq, BLOCK / 2 + 1);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	value = value_asked();
	assert_non_null(strstr(value, "culvert 1 2 culvert 7\n"));
	reply_replaced(true, value);
	free(value);
	assert_int_equal(sa->seq_granted, BLOCK / 2 + 1 + BLOCK);
}

static void a_living_owner_is_left_alone(void **state)
{
	char *value;

	(void)state;
	join();
	value = value_of("other", OTHER, 5, 3 * BLOCK, 1000, 77);
	reply_keys(ME | THEM, value);
	assert_false(is_replaced_in(10000, ME | THEM, value));
	assert_true(is_replaced_in(3000, ME, value)); // its lease has ended
	free(value);
	value = value_asked();
	reply_replaced(true, value);
	free(value);
	assert_int_equal(group()->role, CONF_ACTIVE);
	// After a block is left out, so that the peer notices.
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), 4 * BLOCK);
	assert_int_equal(desk_sa_out("out-6")->seq_granted, 5 * BLOCK);
	assert_int_equal(replay_top(&desk_sa_in("in-6")->sa.per_packet.replay), 1000);
	assert_true(desk_sa_out("out-6")->has_taken_over);
}

static void a_group_that_was_given_up_continues_exactly(void **state)
{
	char *value, *own;

	(void)state;
	join();
	value = value_of("-", 0, 5, 3 * BLOCK, 1000, 77);
	reply_keys(ME | THEM, value);
	assert_true(is_replaced_in(3000, ME | THEM, value));
	own = value_asked();
	reply_replaced(true, own);
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), 77);
	assert_int_equal(desk_sa_out("out-6")->seq_granted, 3 * BLOCK); // it never goes back
	assert_int_equal(replay_top(&desk_sa_in("in-6")->sa.per_packet.replay), 77);
	free(value);
	free(own);
}

static void it_is_given_up_by_command(void **state)
{
	const char *why;
	char *value;

	(void)state;
	take();
	reply_keys(ME | THEM, NULL); // its key is missing: refused, and it stays active
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_true(is_replaced_in(3000, ME | THEM, NULL));
	value = value_asked();
	reply_replaced(true, value);
	free(value);
	atomic_store(&desk_sa_out("out-6")->seq, 50);
	assert_true(fleet_order(&desk, "main", CONF_STANDBY, &why));
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_int_equal(desk_sa_out("out-6")->seq_granted, 50);
	while (!is_replacing())
		if (!is_replaced_in(3000, ME | THEM, NULL))
			fail();
	value = value_asked();
	assert_non_null(strstr(value, " - 0\n"));
	assert_non_null(strstr(value, " 50\n"));
	reply_replaced(true, value);
	assert_false(is_replaced_in(9000, ME | THEM, value)); // others are first
	assert_true(is_replaced_in(3000, ME | THEM, value));
	free(value);
	assert_false(fleet_order(&desk, "none", CONF_ACTIVE, &why));
	assert_string_equal(why, "there is none of this name");
}

static void the_member_that_loses_is_silent(void **state)
{
	char *value;

	(void)state;
	take();
	value = value_of("other", OTHER, 9, 3 * BLOCK, 1000, 0);
	while (is_replacing())
		reply_replaced(false, value);
	reply_keys(ME | THEM, value);
	free(value);
	assert_int_equal(group()->role, CONF_STANDBY);
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
	check_refused("culvert 1 6 other 9\nout 1 2 3\n", "a line is damaged");
	check_refused("culvert 1 7 other 9\nout 0011223344556677 2 1\n",
		"it has an SA that this gateway lacks");
	check_refused(value, "it is older than one before");
	bad = value_of("other", OTHER, 8, 2 * BLOCK, 1000, 0);
	check_refused(bad, "its numbers go backwards");
	free(bad);
	bad = value_of("other", OTHER, 9, 3 * BLOCK, 999, 0);
	check_refused(bad, "its numbers go backwards");
	free(bad);
	bad = value_of("other", OTHER, 10, UINT64_C(1) << 32, 1000, 0);
	check_refused(bad, "a number is too high");
	check_refused(NULL, "its key is missing");
	// A command takes it all the same, above all numbers that were seen.
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_true(is_replaced_in(3000, ME, NULL));
	free(bad);
	bad = value_asked();
	assert_non_null(strstr(bad, "culvert 1 11 culvert 7\n"));
	reply_replaced(true, bad);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), 4 * BLOCK);
	free(bad);
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

static void without_etcd_nothing_moves(void **state)
{
	char *value;
	const char *why;

	(void)state;
	take();
	for (unsigned int i = 0; i < 3000; i++) {
		has_failed = body != NULL;
		tick();
	}
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_string_equal(fleet_error(&desk), "etcd is away");
	assert_false(fleet_order(&desk, "main", CONF_STANDBY, &why));
	assert_string_equal(why, "etcd is away");
	// When it is back, others get as long as a lease to come back, too.
	value = value_of("other", OTHER, 9, 3 * BLOCK, 1000, 0);
	wait_for(ETCD_LEASE_KEEPALIVE);
	keep();
	while (body == NULL || is_replacing()) {
		has_failed = body != NULL;
		tick();
	}
	reply_keys(ME | THEM, value);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_false(is_replaced_in(3500, ME, value));
	assert_true(is_replaced_in(2000, ME, value));
	free(value);
}

static void a_name_is_of_one_member(void **state)
{
	(void)state;
	wait_for(ETCD_LEASE_GRANT);
	reply("{\"header\":{},\"ID\":\"7\",\"TTL\":\"4\"}");
	wait_for(ETCD_TXN);
	reply("{\"header\":{\"revision\":\"1\"},\"responses\":[{\"response_range\":{\"kvs\":[{"
	      "\"key\":"
	      "\"YQ==\",\"mod_revision\":\"1\",\"lease\":\"8\"}]}}]}");
	assert_string_equal(fleet_error(&desk), "another gateway is instance \"culvert\"");
	assert_int_equal(group()->role, CONF_STANDBY);
}

static void a_lease_that_has_ended_is_replaced(void **state)
{
	(void)state;
	take();
	while (body == NULL || asked != ETCD_LEASE_KEEPALIVE) {
		has_failed = body != NULL;
		tick();
	}
	reply("{\"result\":{\"ID\":\"7\"}}");
	while (body == NULL || asked != ETCD_LEASE_GRANT)
		tick();
	assert_int_equal(group()->role, CONF_ACTIVE);
}

static int begin(void **state)
{
	desk_begin(state);
	desk_reload(FLEET, "");
	assert_int_equal(fleet_start(&desk), 0);
	assert_int_equal(fleet_connect(&desk, NULL, NULL), 0);
	revision = 10;
	has_failed = false;
	desk_forget();
	return 0;
}

static int end(void **state)
{
	free(body);
	free(taken);
	body = taken = NULL;
	desk.fleet->is_up = false; // nothing to give up
	fleet_stop(&desk);
	return desk_end(state);
}

#define fleet_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fleet_test(a_free_group_is_taken),
		fleet_test(an_sa_waits_for_its_bound),
		fleet_test(more_numbers_are_asked_for_in_time),
		fleet_test(a_living_owner_is_left_alone),
		fleet_test(a_group_that_was_given_up_continues_exactly),
		fleet_test(it_is_given_up_by_command),
		fleet_test(the_member_that_loses_is_silent),
		fleet_test(values_are_refused),
		fleet_test(the_owner_writes_a_damaged_value_again),
		fleet_test(without_etcd_nothing_moves),
		fleet_test(a_name_is_of_one_member),
		fleet_test(a_lease_that_has_ended_is_replaced),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
