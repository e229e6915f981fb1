// SPDX-License-Identifier: BSD-3-Clause
// Who owns a group of a fleet, with answers of etcd that the test gives: a free group is taken, a
// living owner is left alone, the member that loses is silent.
#include "fleet_desk.h"

#define FLEET_4                                                                                    \
	"fleet = { member = 1; endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; };\n"          \
	"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; } );\n"
#define BLOCK NUMBER_BLOCK_FLEET
#define TURN  NUMBER_FLEET_TURN
#define AHEAD (NUMBER_LEAP_ESN / 4) // inbound

static struct replay *window(void)
{
	return &desk_sa_in("in-6")->sa.per_packet.replay;
}

static void a_free_group_is_taken(void **state)
{
	struct sa_out *sa = desk_sa_out("out-6");

	(void)state;
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_int_equal(atomic_load(&sa->sa.per_packet.seq_limit), 0);
	take();
	assert_string_equal(group()->fleet.owner, "culvert");
	assert_int_equal(sa->seq_granted, BLOCK - 1);
	assert_int_equal(
		atomic_load(&sa->sa.per_packet.seq_limit), RTE_MIN(BLOCK - 1, sa->seq_reserved));
	assert_int_equal(desk_sa_out("out-4")->seq_granted, UINT64_MAX); // is of no group
}

// Above it another member may accept them.
static void packets_are_accepted_up_to_the_bound(void **state)
{
	struct replay *w = window();
	char *value;

	(void)state;
	assert_int_equal(replay_end(w), 0);
	take();
	assert_int_equal(replay_seq(w, AHEAD), AHEAD);
	assert_int_equal(replay_seq(w, AHEAD + 1), 0);
	assert_int_equal(replay_end(&desk_sa_in("in-4")->sa.per_packet.replay), UINT64_MAX);
	assert_true(replay_commit(w, AHEAD / 2 + 1));
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	assert_int_equal(replay_end(w), AHEAD); // etcd has not done it
	value = value_asked();
	reply_replaced(true, value);
	assert_int_equal(replay_end(w), AHEAD / 2 + 1 + AHEAD);
	assert_false(is_replaced_in(3000, ME | THEM, value));
	desk_sa_in("in-6")->sa.per_worker[0].above_end = 7 * AHEAD; // the peer has left numbers out
	assert_true(is_replaced_in(3000, ME | THEM, value));
	free(value);
	value = value_asked();
	reply_replaced(true, value);
	free(value);
	assert_int_equal(replay_end(w), 8 * AHEAD);
	value = value_of("other", OTHER, 9, 3 * BLOCK, 9 * AHEAD, 0);
	while (is_replacing())
		reply_replaced(false, value);
	reply_keys(ME | THEM, value);
	free(value);
	assert_int_equal(replay_end(w), AHEAD / 2 + 1);
}

// Its next own number would be as near as after a lost packet.
static void the_peer_notices_a_takeover(void **state)
{
	char *value = value_of("other", OTHER, 5, TURN - 1, 1000, 77), *own;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(is_replaced_in(6000, ME, value));
	own = value_asked();
	reply_replaced(true, own);
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), 2 * TURN - 1);
	assert_int_equal(replay_top(window()), 1000);
	assert_int_equal(replay_end(window()), 1000 + AHEAD);
	assert_true(desk_sa_out("out-6")->has_taken_over);
	free(value);
	free(own);
}

// An SA with other settings is another one, and has no numbers before etcd has a bound for its key.
static void an_sa_waits_for_its_bound(void **state)
{
	(void)state;
	fleet_reload(FLEET_4, "dscp = 5;");
	assert_int_equal(desk_sa_out("out-4")->seq_granted, 0);
	take();
	assert_int_equal(desk_sa_out("out-4")->seq_granted, BLOCK - 1);
	fleet_reload(FLEET_4, "");
	assert_int_equal(desk_sa_out("out-4")->seq_granted, BLOCK - 1);
}

static void more_numbers_are_asked_for_in_time(void **state)
{
	struct sa_out *sa = desk_sa_out("out-6");
	char *value;

	(void)state;
	take();
	assert_false(is_replaced_in(8000, ME | THEM, taken));
	atomic_store(&sa->seq, BLOCK - BLOCK / 4);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	value = value_asked();
	assert_non_null(strstr(value, "culvert 1 2 culvert 7\n"));
	reply_replaced(true, value);
	free(value);
	assert_int_equal(sa->seq_granted, TURN + BLOCK - 1);
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
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), 2 * TURN - 1);
	assert_int_equal(desk_sa_out("out-6")->seq_granted, 2 * TURN + BLOCK - 1);
	assert_int_equal(replay_top(window()), 1000);
	assert_true(desk_sa_out("out-6")->has_taken_over);
}

static void a_window_that_was_given_up_continues_exactly(void **state)
{
	const uint64_t before = sa_out_seq(desk_sa_out("out-6"));
	char *value, *own;

	(void)state;
	join();
	value = value_of("-", 0, 5, 3 * BLOCK, 1000, 77);
	reply_keys(ME | THEM, value);
	assert_true(is_replaced_in(3000, ME | THEM, value));
	own = value_asked();
	reply_replaced(true, own);
	assert_int_equal(sa_out_seq(desk_sa_out("out-6")), before); // no other one is above 77
	assert_int_equal(replay_top(window()), 77);
	free(value);
	free(own);
}

// A member that was killed continues after all numbers that it had reserved: so far ahead that the
// peer of a group which moves here takes that for a takeover, and leaps. The bound waits for it.
static void check_bound_after_a_move(uint64_t reserved, uint64_t ahead)
{
	struct sa_out *sa = desk_sa_out("out-6");
	char *value = value_of("-", 0, 5, 3 * BLOCK, 1000, 77);

	join();
	sa_out_block_set(sa, reserved);
	reply_keys(ME | THEM, value);
	assert_true(is_replaced_in(3000, ME | THEM, value));
	free(value);
	taken = value_asked();
	reply_replaced(true, taken);
	assert_int_equal(replay_top(window()), 77);
	assert_int_equal(replay_end(window()), 77 + ahead);
}

static void a_leap_of_the_peer_is_expected(void **state)
{
	(void)state;
	check_bound_after_a_move(4 * TURN, AHEAD + NUMBER_LEAP_ESN);
	assert_true(desk_sa_out("out-6")->has_taken_over); // it is shown to the peer
	assert_true(replay_commit(window(), 78 + NUMBER_LEAP_ESN));
	assert_false(is_replaced_in(3000, ME | THEM, taken));
}

static void no_leap_is_expected_after_a_next_block(void **state)
{
	(void)state;
	check_bound_after_a_move(TURN, AHEAD);
	assert_false(desk_sa_out("out-6")->has_taken_over);
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
	value = value_of("other", OTHER, 9, 3 * BLOCK, 2 * AHEAD, 0);
	while (is_replacing())
		reply_replaced(false, value);
	reply_keys(ME | THEM, value);
	free(value);
	assert_int_equal(group()->role, CONF_STANDBY);
}

// Not minutes later, when nobody expects it any more.
static void an_order_that_cannot_be_done_ends(void **state)
{
	char *value = value_of("other", OTHER, 5, 3 * BLOCK, 1000, 0);
	const char *why;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	fail_for(6000);
	while (is_replacing()) {
		has_failed = true;
		tick();
	}
	assert_false(is_replaced_in(3000, ME | THEM, value));
	assert_int_equal(group()->role, CONF_STANDBY);
	free(value);
}

// It was cut off, and others had the group and gave it up: it begins above them, as any member.
static void an_active_member_that_missed_owners_begins_again(void **state)
{
	struct sa_out *sa = desk_sa_out("out-6");
	const uint64_t used = BLOCK + 77; // of the other one
	char *value, *own;

	(void)state;
	take();
	while (is_replacing())
		reply_replaced(true, taken);
	value = value_of("-", 0, 9, 3 * BLOCK, 2 * AHEAD, used);
	reply_keys(ME | THEM, value);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_int_equal(sa->seq_granted, sa_out_seq(sa));
	assert_true(is_replacing() || is_replaced_in(3000, ME | THEM, value));
	own = value_asked();
	reply_replaced(true, own);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_int_equal(sa_out_seq(sa), TURN - 1);
	assert_int_equal(replay_top(window()), used);
	free(value);
	free(own);
}

// A member of another version, whose key cannot be read, lives as long as its lease.
static void a_member_that_cannot_be_read_lives(void **state)
{
	char *value = value_of("other", STRANGER, 5, 3 * BLOCK, 1000, 77);

	(void)state;
	join();
	reply_keys(ME | UNREADABLE, value);
	assert_false(is_replaced_in(10000, ME | UNREADABLE, value));
	free(value);
}

// Nobody would give the group up.
static void the_owner_keeps_a_group_in_its_configuration(void **state)
{
	struct conf *conf = desk_conf("", "");
	char *text;
	size_t len;
	FILE *errors = open_memstream(&text, &len);

	(void)state;
	assert_true(fleet_keeps_groups(&desk, conf, errors));
	take();
	assert_false(fleet_keeps_groups(&desk, conf, errors));
	fclose(errors);
	assert_non_null(
		strstr(text, ": the group \"main\" was here, and this member has it: give it "
			     "up first (culvertctl group main standby)\n"));
	free(text);
	conf_free(conf);
}

static void a_group_that_etcd_is_asked_for_is_kept(void **state)
{
	struct conf *conf = desk_conf("", "");

	(void)state;
	join();
	reply_keys(ME | THEM, NULL);
	assert_true(is_replaced_in(3000, ME | THEM, NULL));
	assert_false(fleet_keeps_groups(&desk, conf, stderr));
	conf_free(conf);
}

static void without_etcd_nothing_moves(void **state)
{
	char *value;
	const char *why;

	(void)state;
	take();
	fail_for(30000);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_string_equal(fleet_error(&desk), "etcd is away");
	assert_false(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_string_equal(why, "etcd is away");
	// When it is back, others get as long as a lease to come back, too.
	value = value_of("other", OTHER, 9, 3 * BLOCK, 2 * AHEAD, 0);
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
	assert_string_equal(fleet_error(&desk), "another gateway is member 1");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		fleet_test(a_free_group_is_taken),
		fleet_test(packets_are_accepted_up_to_the_bound),
		fleet_test(the_peer_notices_a_takeover),
		fleet_test(an_sa_waits_for_its_bound),
		fleet_test(more_numbers_are_asked_for_in_time),
		fleet_test(a_living_owner_is_left_alone),
		fleet_test(a_window_that_was_given_up_continues_exactly),
		fleet_test(a_leap_of_the_peer_is_expected),
		fleet_test(no_leap_is_expected_after_a_next_block),
		fleet_test(it_is_given_up_by_command),
		fleet_test(the_member_that_loses_is_silent),
		fleet_test(an_order_that_cannot_be_done_ends),
		fleet_test(an_active_member_that_missed_owners_begins_again),
		fleet_test(a_member_that_cannot_be_read_lives),
		fleet_test(the_owner_keeps_a_group_in_its_configuration),
		fleet_test(a_group_that_etcd_is_asked_for_is_kept),
		fleet_test(without_etcd_nothing_moves),
		fleet_test(a_name_is_of_one_member),
		fleet_test(a_lease_that_has_ended_is_replaced),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
