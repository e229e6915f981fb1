// SPDX-License-Identifier: BSD-3-Clause
// A member of a pair that was frozen: its groups become standby before workers run again, by either
// clock, and not because the control thread alone was busy.
#include "desk.h"
#include "event_log.h"
#include "frozen.h"
#include "role.h"

#define GROUPS                                                                                     \
	"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; },\n"                        \
	"  { name = \"six\"; addresses = [ \"2001:db8:f::1\" ]; },\n"                              \
	"  { name = \"other\"; role = \"standby\"; addresses = [ \"10.1.0.1\" ]; } );\n"
#define PAIR     "pair = { member = 1; deadline = 1000; };\n"
#define LIMIT_MS 1000

static unsigned int n_dropped; // by the worker

static void drop(void *arg)
{
	(void)arg;
	n_dropped++;
}

// The clocks move on, that of the machine by more if it was suspended; then the control thread has
// a round.
static void round_after(unsigned int ms, unsigned int boot_ms)
{
	desk_now += ms;
	desk_boot += boot_ms;
	frozen_round(&desk);
}

// Whether the worker may begin a pass now; if not, it carries out its order.
static bool worker_runs(void)
{
	struct deadline *d = &desk.workers[0]->deadline;

	if (!deadline_is_past(d, desk_now * (TSC_HZ / 1000)))
		return true;
	deadline_obey(d, drop, NULL);
	return false;
}

static enum drop stop_of(const char *out)
{
	return sa_stop_reason(&desk_sa_out(out)->sa);
}

static int begin(void **state)
{
	int rc = desk_begin(state);

	n_dropped = 0;
	desk_wait(2000);
	desk_boot = desk_now;
	return rc;
}

#define frozen_test(f) cmocka_unit_test_setup_teardown(f, begin, desk_end)

static void expect_frozen(unsigned int ms)
{
	char event[128];

	snprintf(event, sizeof(event), "event=frozen\tseverity=warning\tms=%u", ms);
	desk_expect_event(event);
	desk_expect_event("event=group_role\tseverity=info\tgroup=main\trole=standby");
	desk_expect_event("event=group_role\tseverity=info\tgroup=six\trole=standby");
	desk_expect_no_event();
}

// Rounds until the worker runs again.
static void recover(void)
{
	unsigned int n = 0;

	while (!worker_runs()) {
		assert_in_range(n++, 0, 5);
		round_after(1, 1);
	}
	assert_int_equal(n_dropped, 1);
}

static void test_frozen(void **state)
{
	uint32_t generation;

	(void)state;
	desk_reload(GROUPS PAIR, "");
	desk_forget();
	round_after(0, 0);
	assert_true(worker_runs());
	round_after(LIMIT_MS, LIMIT_MS); // not longer
	assert_true(worker_runs());
	assert_int_equal(stop_of("out-4"), DROP_NONE);
	desk_expect_no_event();
	generation = desk_flow_generation();
	desk_now += 2500;
	desk_boot += 2500;
	assert_false(worker_runs()); // by itself
	frozen_round(&desk);
	expect_frozen(2500);
	assert_int_equal(stop_of("out-4"), DROP_STANDBY);
	assert_int_equal(stop_of("out-6"), DROP_STANDBY);
	assert_false(worker_runs());
	recover();
	assert_int_not_equal(desk_flow_generation(), generation);
	assert_int_equal(desk_n_sent, 0);
	round_after(100, 100);
	assert_true(worker_runs());
	desk_expect_no_event();
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now));
	assert_int_equal(stop_of("out-4"), DROP_NONE);
	assert_int_equal(stop_of("out-6"), DROP_STANDBY);
}

// The TSC has stood still.
static void test_suspended(void **state)
{
	(void)state;
	desk_reload(GROUPS PAIR, "");
	round_after(0, 0);
	desk_forget();
	round_after(1, 60000);
	assert_false(worker_runs());
	expect_frozen(60000);
	recover();
}

// It has begun again.
static void test_clock_goes_back(void **state)
{
	(void)state;
	desk_reload(GROUPS PAIR, "");
	round_after(0, 0);
	desk_forget();
	desk_now -= 50000;
	round_after(0, 10);
	desk_expect_no_event();
	desk_now -= 1000;
	round_after(0, 2000);
	expect_frozen(2000);
	recover();
}

// Flows in clear keep their decisions until another configuration has been loaded: workers wait
// until then.
static void test_while_loading(void **state)
{
	uint32_t generation;

	(void)state;
	desk_reload(GROUPS PAIR, "");
	round_after(0, 0);
	generation = desk_flow_generation();
	desk_loading(true);
	for (unsigned int i = 0; i < 10; i++) {
		round_after(i == 0 ? 3000 : 100, i == 0 ? 3000 : 100);
		assert_false(worker_runs());
	}
	assert_int_equal(desk_flow_generation(), generation);
	desk_loading(false);
	for (unsigned int i = 0; i < 3; i++)
		round_after(1, 1);
	assert_true(worker_runs());
	assert_int_not_equal(desk_flow_generation(), generation);
}

// Long work of the control thread, which shows that it runs.
static void test_busy(void **state)
{
	(void)state;
	desk_reload(GROUPS PAIR, "");
	round_after(0, 0);
	desk_forget();
	for (unsigned int i = 0; i < 20; i++) {
		desk_now += LIMIT_MS / 2;
		desk_boot += LIMIT_MS / 2;
		assert_true(worker_runs());
		frozen_renew(&desk);
	}
	frozen_round(&desk);
	desk_expect_no_event();
	assert_true(worker_runs());
	// It was frozen in the middle: the next round finds it.
	desk_now += 5000;
	desk_boot += 5000;
	frozen_renew(&desk);
	assert_false(worker_runs());
	round_after(100, 100);
	expect_frozen(5000);
	recover();
}

// Once more, before workers have carried out their orders, and after a command.
static void test_frozen_again(void **state)
{
	(void)state;
	desk_reload(GROUPS PAIR, "");
	round_after(0, 0);
	round_after(2000, 2000);
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now));
	desk_forget();
	assert_false(worker_runs());
	round_after(1, 1);
	round_after(3000, 3000);
	desk_expect_event("event=frozen\tseverity=warning\tms=3000");
	desk_expect_event("event=group_role\tseverity=info\tgroup=main\trole=standby");
	assert_int_equal(stop_of("out-4"), DROP_STANDBY);
	round_after(1, 1); // the worker has done nothing since
	round_after(1, 1);
	assert_int_equal(n_dropped, 0);
	recover();
}

// Without a pair, or without groups, nobody takes over.
static void test_alone(void **state)
{
	static const char *const settings[] = {"", GROUPS, PAIR};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(settings); i++) {
		desk_reload(settings[i], "");
		round_after(0, 0);
		desk_forget();
		round_after(100000, 100000);
		assert_int_equal(desk.workers[0]->deadline.until, UINT64_MAX);
		desk_expect_no_event();
		assert_int_equal(stop_of("out-4"), DROP_NONE);
	}
	desk_reload(GROUPS PAIR, ""); // from now on
	round_after(100, 100);
	desk_forget();
	round_after(100000, 100000);
	expect_frozen(100000);
	recover();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		frozen_test(test_frozen),
		frozen_test(test_suspended),
		frozen_test(test_clock_goes_back),
		frozen_test(test_while_loading),
		frozen_test(test_busy),
		frozen_test(test_frozen_again),
		frozen_test(test_alone),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
