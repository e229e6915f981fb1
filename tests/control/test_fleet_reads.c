// SPDX-License-Identifier: BSD-3-Clause
// The keys that a member of a fleet reads, and when: none while nothing changes, and all that have
// changed, or may have.
#include <string.h>

#include "fleet_desk.h"

#define EACH_MAX 128 // octets of a question and its answer at rest

static unsigned int polls, reads;
static size_t octets;

static bool is_of_all(void)
{
	return is_reading() && strstr(body, "\"min_mod_revision\":\"1\"") != NULL;
}

// Answers a question as long as nothing changes.
static void rest_answer(void)
{
	keep();
	if (body == NULL)
		return;
	octets += strlen(body);
	polls += is_polling();
	reads += is_reading();
	if (is_polling())
		reply_revision();
	else
		reply_keys(ME | THEM, taken);
}

// The group is active here, and its bounds are in etcd.
static void settle(void)
{
	take();
	for (unsigned int i = 0; i < 100; i++) {
		tick();
		keep();
		if (is_replacing())
			etcd_does_it();
		else if (body != NULL && !is_polling())
			reply_keys(ME | THEM, taken);
		else if (body != NULL)
			reply_revision();
	}
	polls = reads = 0;
	octets = 0;
}

static void rest(unsigned int ms)
{
	for (uint64_t end = desk_now + ms; desk_now < end;) {
		tick();
		rest_answer();
	}
}

// Until the next question about keys, or the revision.
static void next_question(void)
{
	do {
		tick();
		keep();
	} while (!is_polling() && !is_reading());
}

static void at_rest_it_asks_for_the_revision_alone(void **state)
{
	(void)state;
	settle();
	rest(50000);
	assert_int_equal(reads, 0);
	assert_in_range(polls, 150, 200);
	assert_in_range(octets, 1, polls * EACH_MAX);
	assert_int_equal(group()->role, CONF_ACTIVE);
	assert_string_equal(fleet_error(&desk), "");
}

static void it_reads_what_has_changed_at_once(void **state)
{
	char since[64];
	uint64_t polled;

	(void)state;
	settle();
	next_question();
	snprintf(since, sizeof(since), "\"min_mod_revision\":\"%d\"", (int)revision + 1);
	revision++;
	polled = desk_now;
	reply_revision();
	assert_true(is_reading());
	assert_non_null(strstr(body, since));
	assert_true(desk_now - polled <= 10);
}

// Until the question for keys, after something has changed.
static void change(void)
{
	next_question();
	revision++;
	reply_revision();
	assert_true(is_reading());
	revision--;
}

static void members_that_have_not_changed_are_not_read(void **state)
{
	(void)state;
	settle();
	change();
	assert_null(strstr(body, "\"min_mod_revision\":\"1\""));
	reply_keys(ME | THEM, taken);
	assert_false(is_reading());
	assert_int_equal(desk.fleet->n_members, 2);
}

static void all_members_are_read_when_one_has_changed(void **state)
{
	(void)state;
	settle();
	change();
	their_text = "culvert 1 0.1 other 100 drains groups=0";
	reply_keys(ME | THEM, taken);
	assert_int_equal(desk.fleet->n_members, 2);
	assert_true(desk.fleet->member[1].drains);
	change();
	reply_keys(ME, taken); // its lease has ended
	assert_int_equal(desk.fleet->n_members, 1);
	assert_false(is_reading());
}

// The keys at a revision that is lower are those of another past.
static void it_reads_all_after_a_restored_backup(void **state)
{
	(void)state;
	settle();
	next_question();
	revision--;
	reply_revision();
	assert_true(is_of_all());
}

// It may have been restored from a backup meanwhile, whose revision is higher by now.
static void it_reads_all_after_a_failure_of_etcd(void **state)
{
	(void)state;
	settle();
	next_question();
	has_failed = true;
	tick();
	next_question();
	assert_true(is_of_all());
}

// If all members did at once, etcd might fail again.
static void members_read_all_one_after_the_other_then(void **state)
{
	(void)state;
	settle();
	desk.conf->fleet_member = 20;
	next_question();
	has_failed = true;
	tick();
	assert_string_not_equal(fleet_error(&desk), "");
	rest(1000);
	assert_string_equal(fleet_error(&desk), ""); // it answers, although no keys were read
	rest(900);
	assert_int_equal(reads, 0);
	rest(600);
	assert_int_equal(reads, 1);
}

static void it_reads_all_after_a_time_without_answers(void **state)
{
	(void)state;
	settle();
	next_question();
	desk_now += 2500; // more than half a lease
	reply_revision();
	next_question();
	assert_true(is_of_all());
}

static void it_reads_all_after_a_reload(void **state)
{
	(void)state;
	settle();
	desk.groups.item[0].fleet.unchecked = true;
	next_question();
	if (is_polling()) { // it was asked before
		reply_revision();
		next_question();
	}
	assert_true(is_of_all());
}

static void it_reads_all_now_and_then(void **state)
{
	(void)state;
	settle();
	rest(70000);
	assert_int_equal(reads, 1);
}

// The number of keys is the same when one has gone and another one has come.
static void a_key_that_goes_is_missed(void **state)
{
	(void)state;
	settle();
	next_question();
	their_group = "theirs";
	reply_keys(ME | THEM, NULL);
	assert_null(group()->fleet.refused); // it may be one that has not changed
	next_question();
	assert_true(is_of_all());
	reply_keys(ME | THEM, NULL);
	assert_string_equal(group()->fleet.refused, "its key is missing");
}

// Whether it was made, and not only changed, is known without that.
static void its_own_new_key_needs_no_read_of_all(void **state)
{
	(void)state;
	take();
	change();
	assert_false(is_of_all());
	reply_keys(ME | THEM, taken);
	next_question();
	assert_true(is_polling());
}

// Another member was first.
static void a_transaction_that_failed_needs_no_read_of_all(void **state)
{
	(void)state;
	settle();
	change();
	reply_keys(ME | THEM, taken);
	atomic_store(&desk_sa_out("out-6")->seq, NUMBER_BLOCK_FLEET - NUMBER_BLOCK_FLEET / 4);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	reply_replaced(false, taken);
	assert_true(is_reading());
	assert_false(is_of_all());
}

static void a_transaction_that_failed_without_a_change_needs_it(void **state)
{
	char *text;

	(void)state;
	settle();
	atomic_store(&desk_sa_out("out-6")->seq, NUMBER_BLOCK_FLEET - NUMBER_BLOCK_FLEET / 4);
	assert_true(is_replaced_in(3000, ME | THEM, taken));
	revision--;
	text = replaced_text(false, "another value");
	reply(text);
	free(text);
	assert_true(is_of_all());
}

// The last read has none.
static void a_key_that_goes_before_it_was_read_is_missed(void **state)
{
	(void)state;
	take();
	reply_keys(ME | THEM, NULL);
	next_question();
	assert_true(is_of_all());
	reply_keys(ME | THEM, NULL);
	assert_string_equal(group()->fleet.refused, "its key is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fleet_test(at_rest_it_asks_for_the_revision_alone),
		fleet_test(it_reads_what_has_changed_at_once),
		fleet_test(members_that_have_not_changed_are_not_read),
		fleet_test(all_members_are_read_when_one_has_changed),
		fleet_test(it_reads_all_after_a_restored_backup),
		fleet_test(it_reads_all_after_a_failure_of_etcd),
		fleet_test(members_read_all_one_after_the_other_then),
		fleet_test(it_reads_all_after_a_time_without_answers),
		fleet_test(it_reads_all_after_a_reload),
		fleet_test(it_reads_all_now_and_then),
		fleet_test(a_key_that_goes_is_missed),
		fleet_test(its_own_new_key_needs_no_read_of_all),
		fleet_test(a_transaction_that_failed_needs_no_read_of_all),
		fleet_test(a_transaction_that_failed_without_a_change_needs_it),
		fleet_test(a_key_that_goes_before_it_was_read_is_missed),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
