// SPDX-License-Identifier: BSD-3-Clause
// Revisions: each change makes one, rollbacks, and changes that wait for a confirmation.
#include <unistd.h>

#include "history_desk.h"

static void test_changes(void **state)
{
	(void)state;
	expect_last(1, "start", "the configuration file");
	expect_answer("change argument\n" RULE, "ok", "generation 3 revision 2\n");
	expect_last(2, "change", "rule \"r\" added");
	assert_int_equal(nth_revision(1).user, 5);
	expect_answer("change argument\nsa set out-4 { lifetime = { soft_packets = 5L; }; }\n"
		      "sa set in-4 { lifetime = { soft_packets = 5L; }; }",
		"ok", "revision 3");
	expect_last(3, "change", "sa \"out-4\": lifetime.soft_packets changed and 1 more");
	// A change that is history_refused leaves none.
	expect_answer("change argument\nsa del nothing", "refused", "nothing");
	history_refused = true;
	expect_answer("change argument\nrule del r", "refused", "");
	assert_int_equal(n_revisions(), 3);
	assert_false(state_has("t.revision-4"));
	history_refused = false;
	expect_answer("rollback 1", "ok", "revision 4");
	expect_last(4, "rollback", "sa \"out-4\": lifetime.soft_packets changed and 2 more");
	assert_int_equal(desk.conf->n_rules, 0);
	desk_expect_log("rolled back: ");
	expect_answer("diff 4 1", "same", "");
	expect_answer("diff 1 3", "different", "lifetime.soft_packets");
	expect_answer("diff 3", "different", "\"change\": \"added\"");
	// A start with the same file changes nothing in the history.
	daemon_start();
	assert_int_equal(n_revisions(), 4);
}

// The differences of a rollback are changes at run time.
static void test_reload_keeps_rollback(void **state)
{
	(void)state;
	conf_file_write("rules = ( { name = \"f\"; action = \"drop\"; } ); default_log = "
			"true;");
	expect_answer("reload", "ok", "revision 2");
	expect_answer("reload", "ok", "revision 2"); // without a difference
	expect_answer("rollback 1", "ok", "revision 3");
	expect_answer("reload", "refused", "would discard 2 run-time changes");
	expect_answer("reload discard", "ok", "revision 4");
	expect_answer("diff", "same", "");
}

static void test_not_confirmed(void **state)
{
	(void)state;
	expect_answer("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	assert_string_equal(nth_revision(1).state, "waits");
	expect_answer("change argument\nrule del r", "refused",
		"revision 2 of user 5 waits for its confirmation, for 60 s more");
	expect_answer("reload", "refused", "waits for its confirmation");
	expect_answer("confirm-in 60 rollback 1", "refused", "waits for its confirmation");
	assert_int_equal(desk.refusal.at_ms, 0); // there is nothing wrong with the file
	expect_answer("diff", "different", "\"r\"");
	desk_now += 59999;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 1);
	desk_forget();
	desk_now++;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 0);
	expect_last(3, "return", "rule \"r\" removed");
	assert_true(history_back);
	assert_string_equal(nth_revision(1).state, "undone");
	desk_expect_log("returned: rule \"r\" removed");
	desk_expect_log("revision 2 was not confirmed: revision 1 runs again");
	expect_answer("confirm", "refused", "no change waits for a confirmation");
	expect_answer("change argument\n" RULE, "ok", "revision 4");
}

// It cannot be undone for a while.
static void test_returns_again(void **state)
{
	(void)state;
	expect_answer("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	history_refused = true;
	desk_now += 60000;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 1);
	desk_expect_log("cannot be undone, it is tried again");
	history_refused = false;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 1);
	desk_now += 10000;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 0);
}

static void test_confirmed(void **state)
{
	(void)state;
	expect_answer("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	expect_answer("confirm", "ok", "revision 2");
	desk_now += 100000;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 1);
	assert_string_equal(nth_revision(1).state, "runs");
	expect_answer("confirm", "refused", "no change waits");
}

// A confirmation that arrives while the change returns is too late.
static void test_late(void **state)
{
	(void)state;
	expect_answer("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	history_takes_long = true;
	desk_now += 60000;
	daemon_pass();
	request_send("confirm");
	history_takes_long = false;
	daemon_pass();
	assert_string_equal(client_status, "refused");
	assert_int_equal(desk.conf->n_rules, 0);
}

// During a load that the operator does not cause: until when the confirmation comes counts, not
// when the load ends.
static void test_during_load(void **state)
{
	static const struct {
		uint64_t after_ms;
		const char *status;
		unsigned int rules;
	} cases[] = {{59999, "ok", 1}, {60000, "refused", 0}};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		expect_answer("confirm-in 60 change argument\n" RULE, "ok", "");
		history_takes_long = true;
		request_send("diff");
		desk_now += cases[i].after_ms;
		request_send("confirm");
		desk_now += 60000;
		daemon_pass();
		assert_int_equal(desk.conf->n_rules, 1);
		history_takes_long = false;
		daemon_pass();
		assert_string_equal(client_status, cases[i].status);
		assert_int_equal(desk.conf->n_rules, cases[i].rules);
		if (cases[i].rules > 0)
			expect_answer("rollback 1", "ok", "");
	}
}

static void test_ended_by_rollback(void **state)
{
	(void)state;
	expect_answer("change argument\n" RULE, "ok", "revision 2");
	expect_answer("confirm-in 60 change argument\nrule del r", "ok", "revision 3");
	assert_false(history_back);
	expect_answer("rollback 3", "refused",
		"revision 3 is what waits for its confirmation: culvertctl confirm keeps it, "
		"culvertctl rollback 2 undoes it");
	expect_answer("rollback 1", "refused", "culvertctl rollback 2 undoes it"); // the same again
	assert_string_equal(nth_revision(2).state, "waits");
	history_back = false;
	expect_answer("rollback 2", "ok", "revision 4");
	assert_true(history_back);
	assert_string_equal(nth_revision(2).state, "undone");
	desk_now += 100000;
	daemon_pass();
	expect_last(4, "rollback", "rule \"r\" added");
	expect_answer("change argument\nrule del r", "ok", "revision 5");
}

// A start does not use a file that was not confirmed, until it is edited or reloaded.
static void test_file_not_confirmed(void **state)
{
	static const char more[] = "rules = ( { name = \"f\"; action = \"drop\"; } );";

	(void)state;
	conf_file_write(more);
	expect_answer("confirm-in 60 reload", "ok", "revision 2");
	assert_true(state_has("t.revision-unconfirmed"));
	daemon_start(); // while it waits
	assert_int_equal(desk.conf->n_rules, 0);
	desk_expect_log("was not confirmed after it was reloaded as revision 2: beginning with "
			"revision 1");
	expect_last(3, "start", "revision 1, as the file was not confirmed");
	daemon_start();
	assert_int_equal(desk.conf->n_rules, 0);
	assert_int_equal(n_revisions(), 3);
	expect_answer("reload", "ok", "revision 4");
	assert_false(state_has("t.revision-unconfirmed"));
	daemon_start();
	assert_int_equal(desk.conf->n_rules, 1);
	// Edited meanwhile.
	conf_file_write("");
	expect_answer("confirm-in 60 reload", "ok", "revision 5");
	conf_file_write("rules = ( { name = \"g\"; action = \"drop\"; } );");
	daemon_start();
	assert_int_equal(desk.conf->n_rules, 1);
	assert_string_equal(desk.conf->rules[0].name, "g");
	assert_false(state_has("t.revision-unconfirmed"));
	// Undone in time, and the mark stays; a history_refused one sets none.
	conf_file_write("");
	history_refused = true;
	expect_answer("confirm-in 60 reload", "refused", "");
	assert_false(state_has("t.revision-unconfirmed"));
	history_refused = false;
	expect_answer("confirm-in 60 reload", "ok", "");
	desk_now += 60000;
	daemon_pass();
	assert_true(state_has("t.revision-unconfirmed"));
	// The corrected file is no loss of changes at run time.
	conf_file_write("default_log = true;");
	expect_answer("reload", "ok", "");
	assert_false(state_has("t.revision-unconfirmed"));
}

// The file with room for more flows.
static void conf_file_write_larger(void)
{
	char path[512];
	FILE *f;

	conf_file_write("");
	snprintf(path, sizeof(path), "%s/gw.conf", history_folder);
	f = fopen(path, "r+e");
	assert_int_equal(fseek(f, strlen("flows = { max = "), SEEK_SET), 0);
	fputs("20000;}", f); // in place of 1024
	fclose(f);
}

// A start uses the configuration before also if a running daemon could not grow that far.
static void test_smaller_file_not_confirmed(void **state)
{
	(void)state;
	conf_file_write_larger();
	daemon_start();
	conf_file_write("");
	expect_answer("confirm-in 60 reload", "ok", "");
	assert_int_equal(desk.conf->flows_max, 1024);
	daemon_start();
	assert_int_equal(desk.conf->flows_max, 20000);
	assert_int_equal(desk.conf->flows_first, 20000);
}

// Changes of SAs in place that follow fast are one revision; those of another user are not.
static void test_in_place(void **state)
{
	(void)state;
	expect_answer("change argument\n" SA("1"), "ok", "revision 2");
	daemon_pass(); // it is written
	assert_true(state_has("t.revision-2"));
	expect_answer("change argument\n" SA("2"), "ok", "revision 3");
	expect_answer("change argument\n" SA("3"), "ok", "revision 3");
	expect_answer("change argument\n" SA("4"), "ok", "revision 3");
	assert_false(state_has("t.revision-3"));
	expect_last(3, "change", "sa \"more-4\" added and 2 more");
	client_user = 6;
	expect_answer("change argument\n" SA("5"), "ok", "revision 4");
	assert_true(state_has("t.revision-3"));
	assert_int_equal(nth_revision(3).user, 6);
	expect_answer("change argument\n" SA("6"), "ok", "revision 5");
	desk_now += 1000;
	daemon_pass();
	assert_true(state_has("t.revision-5"));
	expect_answer("rollback 2", "ok", "revision 6");
	expect_answer("diff 2", "same", "");
}

// A disk that cannot be written.
static void test_disk(void **state)
{
	struct info_view info;
	char path[512];

	(void)state;
	state_block("t.revision-2.new", true);
	expect_answer("confirm-in 60 change argument\n" RULE, "refused",
		"cannot write revision 2 to state_dir, so nothing could return: File exists");
	expect_answer("change argument\n" RULE, "ok", "revision 2");
	desk_expect_log("cannot write revision 2 of the configuration: File exists");
	assert_true(collect_info(&info, &desk, 0));
	assert_string_equal(info.history_error, "File exists");
	expect_answer(
		"confirm-in 60 change argument\nrule del r", "refused", "nothing could return");
	expect_answer("change argument\n" SA("1"), "ok", "revision 2");
	state_block("t.revision-2.new", false);
	desk_now += 10000;
	daemon_pass();
	assert_true(collect_info(&info, &desk, 0));
	assert_null(info.history_error);
	assert_true(state_has("t.revision-2"));
	expect_answer("confirm-in 60 change argument\nrule del r", "ok", "revision 3");
	// One that is damaged cannot be used.
	expect_answer("confirm", "ok", "");
	snprintf(path, sizeof(path), "%s/t.revision-1", history_folder);
	assert_int_equal(truncate(path, 40), 0);
	expect_answer("rollback 1", "refused", "there is no revision 1");
}

// Revisions from before are removed, and no change returns to one of them.
static void test_without_history(void **state)
{
	(void)state;
	conf_file_history("0");
	expect_answer("reload", "ok", "");
	assert_false(state_has("t.revision-1"));
	assert_false(state_has("t.revision-2"));
	expect_answer(
		"confirm-in 60 change argument\n" RULE, "refused", "--confirm needs a history");
	expect_answer("change argument\n" RULE, "ok", "generation");
	expect_answer("change argument\n" SA("1"), "ok", "generation");
	assert_int_equal(n_revisions(), 0);
	conf_file_history("20");
	expect_answer("confirm-in 60 reload discard", "refused", "--confirm needs a history");
	expect_answer("reload discard", "ok", "revision 1");
	expect_answer("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
}

// The former revision is kept until the change is confirmed.
static void test_short_history(void **state)
{
	(void)state;
	conf_file_history("1");
	expect_answer("reload", "ok", "");
	expect_answer("confirm-in 60 change argument\n" RULE, "ok", "");
	desk_now += 60000;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 0);
}

// A program that can write state_dir, as the user of the daemon can, cannot choose history_settings
// that only a start applies, such as that user.
static void test_former_needs_restart(void **state)
{
	char path[128], text_of[16384];
	FILE *f;
	size_t len;

	(void)state;
	conf_file_write("rules = ( { name = \"f\"; action = \"drop\"; } );");
	expect_answer("confirm-in 60 reload", "ok", "revision 2");
	snprintf(path, sizeof(path), "%s/t.revision-1", history_folder);
	f = fopen(path, "re");
	len = fread(text_of, 1, sizeof(text_of) - 1, f);
	fclose(f);
	f = fopen(path, "we");
	fwrite(text_of, 1, len, f);
	fputs("sandbox = false;\n", f);
	fclose(f);
	daemon_start();
	assert_int_equal(desk.conf->n_rules, 1);
	desk_expect_log("revision 1 cannot be used: beginning with the file");
	assert_true(state_has("t.revision-unconfirmed"));
}

// Changes at run time that a reload has discarded come back as such.
static void test_discarded_return(void **state)
{
	(void)state;
	expect_answer("change argument\n" RULE, "ok", "revision 2");
	conf_file_write("default_log = true;");
	expect_answer("confirm-in 60 reload discard", "ok", "revision 3");
	expect_answer("rewrite", "refused", "waits for its confirmation");
	desk_now += 60000;
	daemon_pass();
	assert_int_equal(desk.conf->n_rules, 1);
	expect_answer("reload", "refused", "would discard");
}

static void test_mistakes(void **state)
{
	(void)state;
	expect_answer("rollback", "refused", "expected the number of one revision");
	expect_answer("rollback 1 2", "refused", "expected the number of one revision");
	expect_answer("rollback x", "refused", "expected the number of a revision");
	expect_answer("rollback 01", "refused", "expected the number of a revision");
	expect_answer("rollback 1x", "refused", "expected the number of a revision");
	expect_answer("rollback 99999999999", "refused", "expected the number of a revision");
	expect_answer("diff 1 2 3", "refused", "expected the number of a revision");
	expect_answer("diff 7", "refused", "there is no revision 7");
	expect_answer("confirm-in 0 reload", "refused", "unknown request");
	expect_answer("confirm-in 86401 reload", "refused", "unknown request");
	expect_answer("confirm-in x reload", "refused", "unknown request");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_reload_keeps_rollback, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(test_during_load, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_not_confirmed, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_returns_again, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(test_confirmed, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(test_late, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_ended_by_rollback, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_file_not_confirmed, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_smaller_file_not_confirmed, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(test_in_place, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(test_disk, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_without_history, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_short_history, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_former_needs_restart, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(
			test_discarded_return, history_setup, history_teardown),
		cmocka_unit_test_setup_teardown(test_mistakes, history_setup, history_teardown),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
