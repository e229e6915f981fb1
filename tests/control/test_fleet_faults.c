// SPDX-License-Identifier: BSD-3-Clause
// A member of a fleet with another configuration than before, after answers that were lost, and
// with orders at unusual times.
#include "change.h"
#include "fleet_desk.h"

#define FLEET_OF(addresses)                                                                        \
	"fleet = { member = 1; endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; };\n"          \
	"groups = ( { name = \"main\"; addresses = [ " addresses " ]; } );\n"
#define FLEET_4  FLEET_OF("\"192.0.2.1\"")
#define FLEET_46 FLEET_OF("\"192.0.2.1\", \"2001:db8:f::1\"")
#define BLOCK    NUMBER_BLOCK_FLEET
#define TURN     NUMBER_FLEET_TURN
#define AHEAD    (NUMBER_LEAP_ESN / 4) // inbound

static struct replay *window(const char *sa)
{
	return &desk_sa_in(sa)->sa.per_packet.replay;
}

static bool gives_up(void)
{
	char *value = value_asked();
	bool does = strstr(value, " - 0\n") != NULL;

	free(value);
	return does;
}

// The bounds of SAs that it lacks now would be lost.
static void a_value_is_checked_with_the_next_configuration(void **state)
{
	char *value = value_of("other", OTHER, 5, 3 * BLOCK, 1000, 0);

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_null(group()->fleet.refused);
	fleet_reload(FLEET_4, "");
	assert_false(is_replaced_in(8000, ME, value));
	assert_string_equal(group()->fleet.refused, "it has an SA that this gateway lacks");
	free(value);
}

static void an_address_that_joins_waits_for_bounds(void **state)
{
	(void)state;
	take();
	assert_int_equal(replay_end(window("in-4")), UINT64_MAX);
	fleet_reload(FLEET_46, "");
	assert_int_equal(replay_end(window("in-4")), 0);
	assert_int_equal(desk_sa_out("out-4")->seq_granted, 0);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	etcd_does_it();
	assert_int_equal(replay_end(window("in-4")), AHEAD);
	assert_int_equal(desk_sa_out("out-4")->seq_granted, BLOCK - 1);
}

static void an_address_that_leaves_has_no_bounds(void **state)
{
	(void)state;
	take();
	fleet_reload(FLEET_4, "");
	assert_int_equal(replay_end(window("in-6")), UINT64_MAX);
	assert_int_equal(desk_sa_out("out-6")->seq_granted, UINT64_MAX);
}

// The group stayed with this member, and the SA was another one's for a while.
static void an_sa_that_comes_back_leaves_out_what_others_had(void **state)
{
	struct sa_record *record, *record_out;

	(void)state;
	take();
	assert_true(replay_commit(window("in-4"), 100));
	record = desk_sa_in("in-4")->sa.record;
	record->reported = 5000;
	record->learnt = record->left_out = 9000;
	record_out = desk_sa_out("out-4")->sa.record;
	record_out->reported = BLOCK - 1;
	record_out->learnt = record_out->left_out = 3 * TURN;
	fleet_reload(FLEET_46, "");
	assert_int_equal(replay_end(window("in-4")), 100);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	etcd_does_it();
	assert_in_range(sa_out_seq(desk_sa_out("out-4")), 3 * TURN, 4 * TURN);
	assert_int_equal(desk_sa_out("out-4")->seq_granted, record_out->reported);
	assert_int_equal(replay_top(window("in-4")), 9000);
	assert_true(replay_end(window("in-4")) >= 9000 + AHEAD / 2);
}

// One write for all, as etcd keeps each for a while.
static void all_bounds_are_raised_at_once(void **state)
{
	(void)state;
	take();
	assert_true(replay_commit(window("in-6"), AHEAD / 4));
	assert_false(is_replaced_in(3000, ME | THEM, taken));
	atomic_store(&desk_sa_out("out-6")->seq, BLOCK - BLOCK / 4);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	etcd_does_it();
	assert_int_equal(replay_end(window("in-6")), AHEAD / 4 + AHEAD);
}

// The member may not use it, but writes none below it: others would refuse that.
static void a_bound_whose_answer_was_lost_is_known(void **state)
{
	char *value;

	(void)state;
	take();
	assert_true(replay_commit(window("in-6"), AHEAD / 2 + 1));
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	value = value_asked();
	has_failed = true;
	lose_lease(8, false);
	reply_keys(THEM, value);
	free(value);
	assert_int_equal(replay_end(window("in-6")), AHEAD);
	assert_int_equal(desk_sa_in("in-6")->sa.record->reported, AHEAD / 2 + 1 + AHEAD);
}

// The peer fails over, and drops packets below its bounds. This member continues beyond them as
// soon as etcd has its own: it would send nothing before.
static void numbers_are_left_out_once_they_are_granted(void **state)
{
	struct sa_out *sa = desk_sa_out("out-6");
	uint64_t before;

	(void)state;
	take();
	sa_out_allow(sa, UINT64_MAX);
	assert_true(replay_commit(window("in-6"), 100));
	desk_wait(200);
	before = sa_out_seq(sa);
	assert_true(replay_commit(window("in-6"), 200 + NUMBER_NOTICED_ESN));
	desk_wait(200);
	assert_int_equal(sa_out_seq(sa), before);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	etcd_does_it();
	desk_wait(200);
	assert_int_equal(sa_out_seq(sa), TURN - 1);
	assert_true(sa->seq_granted > TURN);
}

// It had the number first, and was cut off while etcd lost its keys.
static void a_member_that_is_named_twice_sees_the_other_owner(void **state)
{
	char *value = value_of("culvert", 99, 9, 3 * BLOCK, 2 * AHEAD, 0);

	(void)state;
	take();
	lose_lease(8, true);
	assert_string_equal(fleet_error(&desk), "another gateway is member 1");
	assert_int_equal(group()->role, CONF_ACTIVE);
	reply_keys(THEM, value);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_string_equal(fleet_error(&desk), "another gateway is member 1");
	wait_for(ETCD_TXN);
	assert_non_null(strstr(body, "CREATE")); // the other one may end
	free(value);
}

// A reload may wait for the disk for longer than the lease.
static void the_lease_is_kept_while_the_thread_waits(void **state)
{
	(void)state;
	take();
	while (body == NULL || asked != ETCD_TXN) {
		keep();
		tick();
	}
	desk_now += 2000;
	fleet_keep(&desk, desk_now);
	assert_int_equal(asked, ETCD_TXN);
	reply_meanwhile("{\"header\":{\"revision\":\"99\"}}");
	assert_int_equal(asked, ETCD_LEASE_KEEPALIVE);
	reply_meanwhile("{\"result\":{\"ID\":\"7\",\"TTL\":\"4\"}}");
	assert_null(body);
	desk_now += 2000;
	fleet_keep(&desk, desk_now);
	assert_int_equal(asked, ETCD_LEASE_KEEPALIVE);
	assert_string_equal(fleet_error(&desk), "");
	assert_int_equal(group()->role, CONF_ACTIVE);
}

static void a_claim_under_way_is_given_up(void **state)
{
	const char *why;

	(void)state;
	join();
	reply_keys(ME | THEM, NULL);
	assert_true(is_replaced_in(3000, ME | THEM, NULL));
	assert_true(fleet_order(&desk, "main", CONF_STANDBY, &why));
	etcd_does_it();
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_true(is_replacing() || is_replaced_in(3000, ME | THEM, NULL));
	assert_true(gives_up());
}

// One of two owners is silenced before etcd is back.
static void a_group_is_given_up_without_etcd(void **state)
{
	const char *why;

	(void)state;
	take();
	fail_for(3000);
	assert_true(fleet_order(&desk, "main", CONF_STANDBY, &why));
	assert_int_equal(group()->role, CONF_STANDBY);
	fail_for(500);
	assert_int_equal(group()->role, CONF_STANDBY);
	while (!is_replacing())
		assert_true(is_replaced_in(3000, ME | THEM, taken));
	assert_true(gives_up());
}

// Others get as long as a lease to come back.
static void a_failed_transaction_hides_no_gap(void **state)
{
	char *value = value_of("other", OTHER, 9, 3 * BLOCK, 2 * AHEAD, 0);

	(void)state;
	take();
	assert_true(replay_commit(window("in-6"), AHEAD / 2 + 1));
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	reply_replaced(false, value);
	fail_for(3000);
	assert_false(is_replaced_in(3500, ME, value));
	assert_true(is_replaced_in(2000, ME, value));
	free(value);
}

// etcd has done the claim that came before the order.
static void a_claim_whose_answer_was_lost_is_given_up(void **state)
{
	const char *why;
	char *value;

	(void)state;
	join();
	reply_keys(ME | THEM, NULL);
	assert_true(is_replaced_in(3000, ME | THEM, NULL));
	value = value_asked();
	assert_true(fleet_order(&desk, "main", CONF_STANDBY, &why));
	has_failed = true;
	tick();
	assert_true(is_replaced_in(8000, ME | THEM, value));
	free(value);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_true(gives_up());
}

// The owner, which lives, wrote another value meanwhile.
static void an_order_is_checked_with_each_value(void **state)
{
	char *value = value_of("other", OTHER, 5, 3 * BLOCK, 1000, 0);
	const char *theirs = "culvert 2 9 other 9\n", *why;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_true(is_replaced_in(1000, ME | THEM, value));
	reply_replaced(false, theirs);
	assert_false(is_replaced_in(8000, ME | THEM, theirs));
	assert_int_equal(group()->role, CONF_STANDBY);
	free(value);
}

static void an_order_waits_for_a_check_with_the_next_configuration(void **state)
{
	char *value = value_of("other", OTHER, 5, 3 * BLOCK, 1000, 0);
	const char *why;

	(void)state;
	join();
	reply_keys(ME | THEM, value);
	fleet_reload(FLEET_4, "");
	assert_true(fleet_order(&desk, "main", CONF_ACTIVE, &why));
	assert_false(is_replaced_in(8000, ME | THEM, value));
	assert_string_equal(group()->fleet.refused, "it has an SA that this gateway lacks");
	free(value);
}

// It would have no bound, and values of etcd would not be looked at again.
static void an_sa_is_not_added_in_place(void **state)
{
	static const char text[] = "sa add { name = \"new-in\"; direction = \"in\"; spi = "
				   "\"0x5001\"; local = \"192.0.2.1\";"
				   "remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";"
				   "cipher_key = \"5001101112131415161718191a1b1c1d1e1f0000\"; }\n";

	(void)state;
	take();
	assert_null(change_in_place(&desk, "test", text, strlen(text), true, NULL, NULL));
}

// A station has announced an address of the group.
static void announced(void)
{
	desk_event((struct event){.kind = EVENT_ADDR_CONFLICT,
		.port = WAN,
		.addr = addr_of("2001:db8:f::1"),
		.mac = {{2, 9, 9, 9, 9, 9}}});
}

static void an_owner_defends_its_addresses_while_etcd_answers(void **state)
{
	(void)state;
	take();
	assert_false(is_replaced_in(11000, ME | THEM, taken)); // it announces less often
	desk_forget();
	announced();
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_int_not_equal(desk_n_sent, 0);
}

// The former one may go on as if it still had them. Answers to its own announcements do not
// count.
static void a_new_owner_defends_its_addresses(void **state)
{
	(void)state;
	take();
	assert_false(is_replaced_in(1900, ME | THEM, taken));
	desk_forget();
	announced();
	assert_int_equal(desk_n_sent, 0);
	assert_false(is_replaced_in(200, ME | THEM, taken));
	announced();
	assert_int_not_equal(desk_n_sent, 0);
	assert_false(is_replaced_in(2000, ME | THEM, taken));
	desk_forget();
	announced();
	assert_int_equal(desk_n_sent, 0);
}

// The station may be the next owner, or anybody.
static void an_owner_without_etcd_does_not_defend(void **state)
{
	(void)state;
	take();
	fail_for(3000); // of 4 s
	desk_forget();
	announced();
	fail_for(100);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_int_equal(desk_n_sent, 0);
	fail_for(2000);
	assert_int_equal(group()->role, CONF_STANDBY);
	assert_true(is_replaced_in(2000, ME | THEM, taken)); // nobody has it: it is given up
	assert_true(gives_up());
}

static void an_owner_announces_again_when_etcd_answers(void **state)
{
	(void)state;
	take();
	assert_false(is_replaced_in(11000, ME | THEM, taken)); // it announces less often
	fail_for(2000);
	announced();
	desk_forget();
	assert_false(is_replaced_in(500, ME | THEM, taken));
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_int_not_equal(desk_n_sent, 0);
	fail_for(10000);
	assert_int_equal(group()->role, CONF_ACTIVE);
}

// They may be the last that stations receive.
static void an_owner_without_etcd_ends_its_announcements(void **state)
{
	(void)state;
	take();
	assert_false(is_replaced_in(11000, ME | THEM, taken));
	fail_for(500);
	announced(); // it defends them
	fail_for(600);
	announced();
	desk_forget();
	fail_for(1500);
	assert_int_equal(desk_n_sent, 0);
}

// Nobody else can take its groups: its lease lasts.
static void an_owner_whose_lease_is_kept_defends_its_addresses(void **state)
{
	(void)state;
	take();
	assert_false(is_replaced_in(11000, ME | THEM, taken));
	fail_for(1200);
	announced();
	desk_forget();
	for (unsigned int i = 0; i < 600; i++) {
		keep();
		has_failed = body != NULL;
		tick();
	}
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_int_not_equal(desk_n_sent, 0);
}

// Somebody has deleted it. Others would take its groups, while this one continues.
static void a_member_whose_key_has_gone_makes_another(void **state)
{
	(void)state;
	take();
	assert_true(fleet_drain(&desk, true));
	free(description_asked());
	reply("{\"header\":{\"revision\":\"99\"},\"succeeded\":false}");
	wait_for(ETCD_TXN);
	assert_non_null(strstr(body, "CREATE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fleet_test(a_value_is_checked_with_the_next_configuration),
		fleet_test(an_address_that_joins_waits_for_bounds),
		fleet_test(an_address_that_leaves_has_no_bounds),
		fleet_test(an_sa_that_comes_back_leaves_out_what_others_had),
		fleet_test(all_bounds_are_raised_at_once),
		fleet_test(a_bound_whose_answer_was_lost_is_known),
		fleet_test(numbers_are_left_out_once_they_are_granted),
		fleet_test(a_member_that_is_named_twice_sees_the_other_owner),
		fleet_test(the_lease_is_kept_while_the_thread_waits),
		fleet_test(a_claim_under_way_is_given_up),
		fleet_test(a_claim_whose_answer_was_lost_is_given_up),
		fleet_test(an_order_is_checked_with_each_value),
		fleet_test(an_order_waits_for_a_check_with_the_next_configuration),
		fleet_test(an_sa_is_not_added_in_place),
		fleet_test(a_group_is_given_up_without_etcd),
		fleet_test(a_failed_transaction_hides_no_gap),
		fleet_test(an_owner_defends_its_addresses_while_etcd_answers),
		fleet_test(a_new_owner_defends_its_addresses),
		fleet_test(an_owner_without_etcd_does_not_defend),
		fleet_test(an_owner_announces_again_when_etcd_answers),
		fleet_test(an_owner_without_etcd_ends_its_announcements),
		fleet_test(an_owner_whose_lease_is_kept_defends_its_addresses),
		fleet_test(a_member_whose_key_has_gone_makes_another),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
