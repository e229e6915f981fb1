// SPDX-License-Identifier: BSD-3-Clause
// Requests to the daemon: the answer, the event and the log line of each, and its permissions.
#include <errno.h>
#include <unistd.h>

#include "collect.h"
#include "conf_apply.h"
#include "configure.h"
#include "desk.h"
#include "event_log.h"
#include "request_client.h"
#include "requests.h"
#include "role.h"

static struct conf *made;
static bool refused; // the built snapshot cannot be applied
static bool subscribers_full;
static bool takes_long; // to make it
static unsigned int n_reloading, n_ready;

static bool io_subscribe(const struct control_request *request, const char *t)
{
	if (!subscribers_full)
		client_answer(NULL, request, "events", t, 0);
	return !subscribers_full;
}

static int io_load_begin(void *arg, request_make *make, bool new_keys, bool back, FILE *errors)
{
	(void)arg, (void)back;
	if (new_keys)
		fputs("new keys\n", errors);
	made = make(desk.conf, errors);
	return 0;
}

static int io_load_finish(void *arg)
{
	bool good = made != NULL && !refused;

	(void)arg;
	if (takes_long)
		return -EINPROGRESS;
	conf_free(made);
	made = NULL;
	return good ? 0 : -EINVAL;
}

static void io_reloading(void)
{
	n_reloading++;
}

static void io_ready(void)
{
	n_ready++;
}

static bool flush(struct control *c, const char *filter, char *t, size_t size)
{
	(void)c;
	snprintf(t, size, "flushed %s", filter);
	return filter[0] != '\0';
}

static bool active(struct control *c, const char *name, char *t, size_t size)
{
	(void)t, (void)size;
	return role_set(c, name, CONF_ACTIVE, desk_now);
}

static const struct request_at_once at_once[] = {{"flush", flush, false},
	{"group-active", active, false}, {"ping", flush, true}, {NULL, NULL, false}};

static unsigned int taking_ms; // that it takes to take a request

static bool io_take(void *arg, struct control_request *taken, bool readers, request_wanted *wanted)
{
	const bool any = client_take(arg, taken, readers, wanted);

	if (any)
		desk_now += taking_ms;
	return any;
}

static const struct request_io io = {io_take, client_answer, io_subscribe, io_load_begin,
	io_load_finish, client_sa_begin, io_reloading, io_ready, at_once};

static int begin(void **state)
{
	int rc = desk_begin(state);

	requests_start(&desk, "/nonexistent.conf", &io, &desk);
	client_may_change = true;
	refused = subscribers_full = takes_long = false;
	desk_now += 1000; // readers have waited
	return rc;
}

static void request(const char *request_text)
{
	client_next = request_text;
	client_status[0] = client_text[0] = '\0';
	for (unsigned int i = 0; i < 3; i++)
		requests_tick(false, desk_now);
	assert_null(client_next);
}

static void check(const char *request_text, const char *wanted_status, const char *part)
{
	request(request_text);
	assert_string_equal(client_status, wanted_status);
	if (strstr(client_text, part) == NULL)
		fail_msg("no \"%s\" in the answer: %s", part, client_text);
}

static void test_change(void **state)
{
	static const char add[] = "change argument\nrule add { name = \"r\"; action = \"drop\"; }";

	(void)state;
	check(add, "ok", "generation 1\n");
	desk_expect_log("user 5, process 6: rule \"r\" added");
	desk_expect_event("event=request_done\tseverity=info\trequest=change\tgeneration=1\tuid=5\t"
			  "pid=6");
	check("change argument\nsa del nothing", "refused", "there is no sa \"nothing\"");
	desk_expect_event("event=request_refused\tseverity=warning\trequest=change\tgeneration=1\t"
			  "uid=5\tpid=6");
	check("change", "refused", "the request is incomplete");
	refused = true;
	check(add, "refused", "");
	check("new-keys change argument\nsa del nothing", "refused", "new keys\n");
}

static void test_reload(void **state)
{
	(void)state;
	n_reloading = n_ready = 0;
	requests_tick(true, desk_now);
	requests_tick(false, desk_now);
	desk_expect_log("/nonexistent.conf cannot be opened");
	assert_int_equal(n_reloading, 1);
	assert_int_equal(n_ready, 1);
	check("reload", "refused", "/nonexistent.conf cannot be opened");
	check("diff", "refused", "/nonexistent.conf cannot be opened");
	check("save", "refused", "/nonexistent.conf cannot be opened");
}

// A change at run time that the file lacks is discarded on demand, but not by a signal.
static void test_discard_only_on_demand(void **state)
{
	static const char add[] = "rule add { name = \"r\"; action = \"drop\"; }";
	char path[] = "/tmp/test_requests.XXXXXX";
	struct conf *file = desk.conf;
	FILE *f = fdopen(mkstemp(path), "w");
	struct info_view info;

	(void)state;
	desk_conf_write(f, "", "");
	fclose(f);
	requests_start(&desk, path, &io, &desk);
	check("reload", "ok", "generation 1\n");
	desk.conf = conf_change(file, "argument", add, strlen(add), stderr);
	check("reload", "refused",
		"a reload would discard 1 run-time change: write to /tmp/test_requests.");
	check("reload", "refused", "\nrule \"r\" removed\n");
	desk_now += 5000;
	assert_true(collect_info(&info, &desk, 0));
	assert_int_equal(info.unsaved, 1);
	assert_int_equal(info.refused_ms, 5000);
	assert_non_null(strstr(info.refused, "a reload would discard 1 run-time change: write to"));
	assert_null(strchr(info.refused, '\n'));
	assert_string_equal(info.refused + strlen(info.refused) - 4, " ..."); // no half word
	requests_tick(true, desk_now);
	requests_tick(false, desk_now);
	desk_expect_log("rule \"r\" removed");
	check("diff", "different", "\"run_time\": true");
	check("reload discard", "ok", "generation 1\n");
	assert_true(collect_info(&info, &desk, 0));
	assert_int_equal(info.refused_ms, UINT64_MAX);
	assert_string_equal(info.refused, "");
	desk_expect_log("run-time change discarded: rule \"r\" removed");
	conf_free(desk.conf);
	desk.conf = file;
	unlink(path);
}

static void test_at_once(void **state)
{
	(void)state;
	check("flush proto=tcp", "ok", "flushed proto=tcp");
	desk_expect_event("event=request_done\tseverity=info\trequest=flush\tgeneration=1\tuid=5\t"
			  "pid=6");
	check("flush", "refused", "flushed ");
	desk_forget();
	check("ping x", "ok", "flushed x");
	check("ping", "refused", "flushed ");
	desk_expect_no_event();
	check("subscribe", "events", "events 0\n");
	subscribers_full = true;
	check("subscribe", "refused", "too many subscribers");
	check("flushes", "refused", "unknown request");
	check("", "refused", "unknown request");
}

// One that may only look gets a refusal; of these, few are posted.
static void test_reader_may_not_change(void **state)
{
	char line[EVENT_LINE_MAX];
	uint64_t position;
	unsigned int n = 0;

	(void)state;
	client_may_change = false;
	check("config", "text", "ports = (");
	assert_null(strstr(client_text, "0001020304"));
	desk_now += 1000;
	check("subscribe", "events", "events 0\n");
	position = event_log_end();
	for (unsigned int i = 0; i < 30; i++)
		check(i % 2 == 0 ? "flush proto=tcp" : "reload", "refused", "control_group");
	while (event_log_read(&position, line))
		n++;
	assert_int_equal(n, 10);
	desk_now += 1000;
	check("change argument\nsa del in-4", "refused", "control_group");
	assert_true(event_log_read(&position, line));
}

// While something is loaded for a client that may only look, an IKE daemon is served at once, and a
// change is the next to be loaded.
static void test_reading(void **state)
{
	(void)state;
	client_may_change = false;
	takes_long = true;
	request("config");
	assert_string_equal(client_status, "");
	assert_false(desk.loading);
	client_may_change = true;
	check("ike charon\nsa del nothing\n", "refused", "nothing");
	check("flush proto=tcp", "ok", "flushed proto=tcp");
	request("change argument\nrule add { name = \"r\"; action = \"drop\"; }");
	assert_string_equal(client_status, "");
	takes_long = false;
	client_may_change = false;
	client_next = "config";
	requests_tick(false, desk_now);
	assert_string_equal(client_status, "text");
	requests_tick(false, desk_now);
	assert_string_equal(client_status, "ok");
	assert_non_null(client_next);
}

// A confirmation whose time ends just when it is taken does not take the place of another request.
static void test_confirmation_in_the_last_moment(void **state)
{
	(void)state;
	client_may_change = false;
	takes_long = true;
	request("config");
	client_may_change = true;
	n_reloading = 0;
	request("reload");
	desk.revisions.unconfirmed = (struct unconfirmed){.revision = 2, .end_ms = desk_now + 1};
	taking_ms = 1;
	request("confirm");
	taking_ms = 0;
	takes_long = false;
	check("flush proto=tcp", "ok", "flushed proto=tcp");
	assert_int_equal(desk.revisions.unconfirmed.revision, 0);
	assert_int_equal(n_reloading, 1);
}

#define STANDBY                                                                                    \
	"groups = ( { name = \"main\"; role = \"standby\"; addresses = [ \"192.0.2.1\" ]; } );"

static enum drop stop_of_out(void)
{
	return sa_stop_reason(&desk_sa_out("out-4")->sa);
}

// A standby group becomes active while a reload is loaded.
static void role_change_while_loading(void)
{
	desk_wait(2000);
	desk_reload(STANDBY, "");
	configure_retire(&desk);
	assert_int_equal(stop_of_out(), DROP_STANDBY);
	takes_long = true;
	requests_tick(true, desk_now);
	assert_true(desk.loading);
	check("group-active main", "ok", "");
	assert_true(desk.loading);
	assert_int_equal(stop_of_out(), DROP_NONE);
}

// A change of the role does not wait for a reload, as other requests do. Flows are decided again
// when that is over.
static void test_role_while_loading(void **state)
{
	uint32_t generation;

	(void)state;
	role_change_while_loading();
	client_next = "config";
	requests_tick(false, desk_now);
	assert_non_null(client_next);
	client_next = NULL;
	generation = desk_flow_generation();
	desk_wait(100);
	assert_int_equal(desk_flow_generation(), generation); // the load has the next one
	takes_long = false;                                   // the file is refused
	requests_tick(false, desk_now);
	assert_false(desk.loading);
	desk_wait(100);
	assert_int_not_equal(desk_flow_generation(), generation);
	assert_int_equal(stop_of_out(), DROP_NONE);
}

// Nor does the configuration that was loaded meanwhile change it.
static void test_role_survives_the_load(void **state)
{
	(void)state;
	role_change_while_loading();
	desk_reload(STANDBY, "");
	assert_int_equal(stop_of_out(), DROP_NONE);
	takes_long = false;
	requests_tick(false, desk_now);
	desk_wait(100);
	assert_int_equal(stop_of_out(), DROP_NONE);
}

// All clients that may only read get one load in a second together.
static void test_readers_wait(void **state)
{
	(void)state;
	client_may_change = false;
	check("config", "text", "ports = (");
	client_next = "config";
	for (unsigned int i = 0; i < 9; i++) {
		desk_now += 100;
		requests_tick(false, desk_now);
		assert_non_null(client_next);
	}
	desk_now += 100;
	check(client_next, "text", "ports = (");
	client_may_change = true;
	check("config", "text", "ports = (");
	check("config", "text", "ports = (");
}

// A request waits for the grace period of the configuration before.
static void test_request_waits_for_grace_period(void **state)
{
	(void)state;
	desk_worker_begins();
	desk_reload("", "");
	client_next = "config";
	requests_tick(false, desk_now);
	assert_non_null(client_next);
	desk_worker_passes();
	assert_true(configure_grace_over(&desk));
	configure_retire(&desk);
	request(client_next);
	assert_string_equal(client_status, "text");
}

int main(void)
{
#define REQUEST_TEST(f) cmocka_unit_test_setup_teardown(f, begin, desk_end)
	const struct CMUnitTest tests[] = {
		REQUEST_TEST(test_change),
		REQUEST_TEST(test_reload),
		REQUEST_TEST(test_discard_only_on_demand),
		REQUEST_TEST(test_at_once),
		REQUEST_TEST(test_reader_may_not_change),
		REQUEST_TEST(test_reading),
		REQUEST_TEST(test_role_while_loading),
		REQUEST_TEST(test_role_survives_the_load),
		REQUEST_TEST(test_confirmation_in_the_last_moment),
		REQUEST_TEST(test_readers_wait),
		REQUEST_TEST(test_request_waits_for_grace_period),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
