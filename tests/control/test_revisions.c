// SPDX-License-Identifier: BSD-3-Clause
// Revisions: each change makes one, rollbacks, and changes that wait for a confirmation.
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect.h"
#include "configure.h"
#include "desk.h"
#include "event_log.h"
#include "requests.h"
#include "revisions.h"

#define RULE "rule add { name = \"r\"; action = \"drop\"; }"
#define SA(n)                                                                                      \
	"sa add { name = \"more-" n "\"; direction = \"in\"; spi = \"0x200" n "\"; "               \
	"local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; "                \
	"cipher_key = \"0f0102030405060708090a0b0c0d0e0fa0a1a2a" n "\"; }"

static char folder[] = "/tmp/culvert-revisions.XXXXXX", file[64], settings[128];
static const char *next; // request of a client; NULL: there is none
static uid_t next_user;
static char status[16], text[8192];
static struct conf *made;
static bool refused;    // the built snapshot cannot be applied
static bool takes_long; // to make it

static bool io_take(
	void *arg, struct control_request *request, bool readers, request_wanted *wanted)
{
	(void)arg, (void)readers;
	if (next == NULL || (wanted != NULL && !wanted(next)))
		return false;
	*request = (struct control_request){.text = strdup(next),
		.len = strlen(next),
		.uid = next_user,
		.may_change = true,
		.from = &desk};
	next = NULL;
	return true;
}

static void io_answer(void *arg, const struct control_request *request, const char *s,
	const char *t, uint64_t now_ms)
{
	(void)arg, (void)request, (void)now_ms;
	snprintf(status, sizeof(status), "%s", s);
	snprintf(text, sizeof(text), "%s", t);
}

static int io_load_begin(void *arg, request_make *make, bool new_keys, FILE *errors)
{
	(void)arg, (void)new_keys;
	made = make(desk.conf, errors);
	return 0;
}

static int io_load_finish(void *arg)
{
	(void)arg;
	if (takes_long)
		return -EINPROGRESS;
	if (made == NULL || refused) {
		conf_free(made);
		return -EINVAL;
	}
	desk_replace(made);
	return 0;
}

static int io_sa_begin(void *arg, struct sa *sa, bool new_keys)
{
	(void)arg, (void)sa, (void)new_keys;
	return 0;
}

static void io_nothing(void)
{
}

static const struct request_at_once at_once[] = {{NULL, NULL, false}};

static const struct request_io io = {.take = io_take,
	.answer = io_answer,
	.load_begin = io_load_begin,
	.load_finish = io_load_finish,
	.sa_begin = io_sa_begin,
	.reloading = io_nothing,
	.ready = io_nothing,
	.at_once = at_once};

static void file_write(const char *more)
{
	FILE *f = fopen(file, "we");
	char all[256];

	snprintf(all, sizeof(all), "%s%s", settings, more);
	desk_conf_write(f, all, "");
	fclose(f);
	chmod(file, 0600);
}

// As a daemon that starts.
static void start(void)
{
	desk.revisions = (struct revisions){0};
	desk.conf_path = file;
	desk_replace(revisions_begin(&desk, conf_load(file, NULL, stderr)));
	configure_retire(&desk);
	revisions_start(&desk);
	requests_start(&desk, file, &io, &desk);
}

static int begin(void **state)
{
	int rc = desk_begin(state);

	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/gw.conf", folder);
	snprintf(settings, sizeof(settings), "state_dir = \"%s\"; instance = \"t\";\n", folder);
	file_write("");
	refused = takes_long = false;
	next_user = 5;
	start();
	return rc;
}

static int end(void **state)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[512];

	requests_stop();
	while ((e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		remove(path);
	}
	closedir(d);
	rmdir(folder);
	return desk_end(state);
}

static void pass(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		requests_tick(false, desk_now);
		if (desk.retired != NULL)
			configure_retire(&desk);
	}
}

static void request(const char *request_text)
{
	next = request_text;
	status[0] = text[0] = '\0';
	pass();
	assert_null(next);
}

static void check(const char *request_text, const char *wanted, const char *part)
{
	request(request_text);
	if (strcmp(status, wanted) != 0 || strstr(text, part) == NULL)
		fail_msg("%s: %s, %s", request_text, status, text);
}

static unsigned int count(void)
{
	struct history_view v;
	unsigned int n = 0;

	while (collect_history(&v, &desk, n))
		n++;
	return n;
}

static struct history_view nth(unsigned int i)
{
	struct history_view v = {0};

	assert_true(collect_history(&v, &desk, i));
	return v;
}

static void is_last(uint64_t revision, const char *source, const char *summary)
{
	const struct history_view v = nth(count() - 1);

	assert_int_equal(v.revision, revision);
	assert_string_equal(v.source, source);
	assert_string_equal(v.summary, summary);
}

static bool exists(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

// --- tests ---

static void test_changes(void **state)
{
	(void)state;
	is_last(1, "start", "the configuration file");
	check("change argument\n" RULE, "ok", "generation 3 revision 2\n");
	is_last(2, "change", "rule \"r\" added");
	assert_int_equal(nth(1).user, 5);
	check("change argument\nsa set out-4 { lifetime = { soft_packets = 5L; }; }\n"
	      "sa set in-4 { lifetime = { soft_packets = 5L; }; }",
		"ok", "revision 3");
	is_last(3, "change", "sa \"out-4\": lifetime.soft_packets changed and 1 more");
	// A change that is refused leaves none.
	check("change argument\nsa del nothing", "refused", "nothing");
	refused = true;
	check("change argument\nrule del r", "refused", "");
	assert_int_equal(count(), 3);
	assert_false(exists("t.revision-4"));
	refused = false;
	check("rollback 1", "ok", "revision 4");
	is_last(4, "rollback", "sa \"out-4\": lifetime.soft_packets changed and 2 more");
	assert_int_equal(desk.conf->n_rules, 0);
	desk_expect_log("rolled back: ");
	check("diff 4 1", "same", "");
	check("diff 1 3", "different", "lifetime.soft_packets");
	check("diff 3", "different", "\"change\": \"added\"");
	// A start with the same file changes nothing in the history.
	start();
	assert_int_equal(count(), 4);
}

// The differences of a rollback are changes at run time.
static void test_reload_keeps_rollback(void **state)
{
	(void)state;
	file_write("rules = ( { name = \"f\"; action = \"drop\"; } ); default_log = "
		   "true;");
	check("reload", "ok", "revision 2");
	check("reload", "ok", "revision 2"); // without a difference
	check("rollback 1", "ok", "revision 3");
	check("reload", "refused", "would discard 2 run-time changes");
	check("reload discard", "ok", "revision 4");
	check("diff", "same", "");
}

static void test_not_confirmed(void **state)
{
	(void)state;
	check("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	assert_string_equal(nth(1).state, "waits");
	check("change argument\nrule del r", "refused",
		"revision 2 of user 5 waits for its confirmation, for 60 s more");
	check("reload", "refused", "waits for its confirmation");
	check("confirm-in 60 rollback 1", "refused", "waits for its confirmation");
	assert_int_equal(desk.refusal.at_ms, 0); // there is nothing wrong with the file
	check("diff", "different", "\"r\"");
	desk_now += 59999;
	pass();
	assert_int_equal(desk.conf->n_rules, 1);
	desk_forget();
	desk_now++;
	pass();
	assert_int_equal(desk.conf->n_rules, 0);
	is_last(3, "return", "rule \"r\" removed");
	assert_string_equal(nth(1).state, "undone");
	desk_expect_log("not confirmed: rule \"r\" removed");
	desk_expect_log("revision 2 was not confirmed: revision 1 runs again");
	check("confirm", "refused", "no change waits for a confirmation");
	check("change argument\n" RULE, "ok", "revision 4");
}

// It cannot be undone for a while.
static void test_returns_again(void **state)
{
	(void)state;
	check("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	refused = true;
	desk_now += 60000;
	pass();
	assert_int_equal(desk.conf->n_rules, 1);
	desk_expect_log("cannot be undone, it is tried again");
	refused = false;
	pass();
	assert_int_equal(desk.conf->n_rules, 1);
	desk_now += 10000;
	pass();
	assert_int_equal(desk.conf->n_rules, 0);
}

static void test_confirmed(void **state)
{
	(void)state;
	check("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	check("confirm", "ok", "revision 2");
	desk_now += 100000;
	pass();
	assert_int_equal(desk.conf->n_rules, 1);
	assert_string_equal(nth(1).state, "runs");
	check("confirm", "refused", "no change waits");
}

// A confirmation that arrives while the change returns is too late.
static void test_late(void **state)
{
	(void)state;
	check("confirm-in 60 change argument\n" RULE, "ok", "revision 2");
	takes_long = true;
	desk_now += 60000;
	pass();
	next = "confirm";
	pass();
	takes_long = false;
	pass();
	assert_string_equal(status, "refused");
	assert_int_equal(desk.conf->n_rules, 0);
}

static void test_ended_by_rollback(void **state)
{
	(void)state;
	check("change argument\n" RULE, "ok", "revision 2");
	check("confirm-in 60 change argument\nrule del r", "ok", "revision 3");
	check("rollback 2", "ok", "revision 4");
	assert_string_equal(nth(2).state, "undone");
	desk_now += 100000;
	pass();
	is_last(4, "rollback", "rule \"r\" added");
	check("change argument\nrule del r", "ok", "revision 5");
}

// A start does not use a file that was not confirmed, until it is edited or reloaded.
static void test_file_not_confirmed(void **state)
{
	static const char more[] = "rules = ( { name = \"f\"; action = \"drop\"; } );";

	(void)state;
	file_write(more);
	check("confirm-in 60 reload", "ok", "revision 2");
	assert_true(exists("t.revision-unconfirmed"));
	start(); // while it waits
	assert_int_equal(desk.conf->n_rules, 0);
	desk_expect_log("was not confirmed after it was reloaded as revision 2: beginning with "
			"revision 1");
	is_last(3, "start", "revision 1, as the file was not confirmed");
	start();
	assert_int_equal(desk.conf->n_rules, 0);
	assert_int_equal(count(), 3);
	check("reload", "ok", "revision 4");
	assert_false(exists("t.revision-unconfirmed"));
	start();
	assert_int_equal(desk.conf->n_rules, 1);
	// Edited meanwhile.
	file_write("");
	check("confirm-in 60 reload", "ok", "revision 5");
	file_write("rules = ( { name = \"g\"; action = \"drop\"; } );");
	start();
	assert_int_equal(desk.conf->n_rules, 1);
	assert_string_equal(desk.conf->rules[0].name, "g");
	assert_false(exists("t.revision-unconfirmed"));
	// Undone in time, and the mark stays; a refused one sets none.
	file_write("");
	refused = true;
	check("confirm-in 60 reload", "refused", "");
	assert_false(exists("t.revision-unconfirmed"));
	refused = false;
	check("confirm-in 60 reload", "ok", "");
	desk_now += 60000;
	pass();
	assert_true(exists("t.revision-unconfirmed"));
	// The corrected file is no loss of changes at run time.
	file_write("default_log = true;");
	check("reload", "ok", "");
	assert_false(exists("t.revision-unconfirmed"));
}

// Changes of SAs in place that follow fast are one revision; those of another user are not.
static void test_in_place(void **state)
{
	(void)state;
	check("change argument\n" SA("1"), "ok", "revision 2");
	pass(); // it is written
	assert_true(exists("t.revision-2"));
	check("change argument\n" SA("2"), "ok", "revision 3");
	check("change argument\n" SA("3"), "ok", "revision 3");
	check("change argument\n" SA("4"), "ok", "revision 3");
	assert_false(exists("t.revision-3"));
	is_last(3, "change", "sa \"more-4\" added and 2 more");
	next_user = 6;
	check("change argument\n" SA("5"), "ok", "revision 4");
	assert_true(exists("t.revision-3"));
	assert_int_equal(nth(3).user, 6);
	check("change argument\n" SA("6"), "ok", "revision 5");
	desk_now += 1000;
	pass();
	assert_true(exists("t.revision-5"));
	check("rollback 2", "ok", "revision 6");
	check("diff 2", "same", "");
}

static void block(const char *name, bool on)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(on ? mkdir(path, 0700) : rmdir(path), 0);
}

// A disk that cannot be written.
static void test_disk(void **state)
{
	struct info_view info;
	char path[512];

	(void)state;
	block("t.revision-2.new", true);
	check("confirm-in 60 change argument\n" RULE, "refused",
		"cannot write revision 2 to state_dir, so nothing could return: File exists");
	check("change argument\n" RULE, "ok", "revision 2");
	desk_expect_log("cannot write revision 2 of the configuration: File exists");
	assert_true(collect_info(&info, &desk, 0));
	assert_string_equal(info.history_error, "File exists");
	check("confirm-in 60 change argument\nrule del r", "refused", "nothing could return");
	check("change argument\n" SA("1"), "ok", "revision 2");
	block("t.revision-2.new", false);
	desk_now += 10000;
	pass();
	assert_true(collect_info(&info, &desk, 0));
	assert_null(info.history_error);
	assert_true(exists("t.revision-2"));
	check("confirm-in 60 change argument\nrule del r", "ok", "revision 3");
	// One that is damaged cannot be used.
	check("confirm", "ok", "");
	snprintf(path, sizeof(path), "%s/t.revision-1", folder);
	assert_int_equal(truncate(path, 40), 0);
	check("rollback 1", "refused", "there is no revision 1");
}

static void test_without_history(void **state)
{
	(void)state;
	snprintf(settings, sizeof(settings), "state_dir = \"%s\"; instance = \"t\"; history = 0;\n",
		folder);
	file_write("");
	check("reload", "ok", "");
	check("confirm-in 60 change argument\n" RULE, "refused", "--confirm needs a history");
	check("change argument\n" RULE, "ok", "generation");
	check("change argument\n" SA("1"), "ok", "generation");
	assert_int_equal(count(), 1);
}

static void test_mistakes(void **state)
{
	(void)state;
	check("rollback", "refused", "expected the number of one revision");
	check("rollback 1 2", "refused", "expected the number of one revision");
	check("rollback x", "refused", "expected the number of a revision");
	check("rollback 01", "refused", "expected the number of a revision");
	check("rollback 1x", "refused", "expected the number of a revision");
	check("rollback 99999999999", "refused", "expected the number of a revision");
	check("diff 1 2 3", "refused", "expected the number of a revision");
	check("diff 7", "refused", "there is no revision 7");
	check("confirm-in 0 reload", "refused", "unknown request");
	check("confirm-in 86401 reload", "refused", "unknown request");
	check("confirm-in x reload", "refused", "unknown request");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes, begin, end),
		cmocka_unit_test_setup_teardown(test_reload_keeps_rollback, begin, end),
		cmocka_unit_test_setup_teardown(test_not_confirmed, begin, end),
		cmocka_unit_test_setup_teardown(test_returns_again, begin, end),
		cmocka_unit_test_setup_teardown(test_confirmed, begin, end),
		cmocka_unit_test_setup_teardown(test_late, begin, end),
		cmocka_unit_test_setup_teardown(test_ended_by_rollback, begin, end),
		cmocka_unit_test_setup_teardown(test_file_not_confirmed, begin, end),
		cmocka_unit_test_setup_teardown(test_in_place, begin, end),
		cmocka_unit_test_setup_teardown(test_disk, begin, end),
		cmocka_unit_test_setup_teardown(test_without_history, begin, end),
		cmocka_unit_test_setup_teardown(test_mistakes, begin, end),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
