// SPDX-License-Identifier: BSD-3-Clause
// Configurations that replace each other, memory that waits for workers, the audit log and lines
// about rules.
#include "audit_log.h"
#include "build.h"
#include "configure.h"
#include "desk.h"
#include "line_memory.h"
#include "retire.h"

static void test_unchanged_sa_outlives_replacement(void **state)
{
	const struct snapshot *before = desk.snapshot;
	const struct sa_out *sa = desk_sa_out("out-4");

	(void)state;
	assert_false(configure_grace_over(&desk));
	desk_worker_begins();
	desk_reload("audit = \"none\";", "");
	assert_ptr_not_equal(desk.snapshot, before);
	assert_int_equal(desk_generation(), 2);
	assert_ptr_equal(desk.retired, before);
	assert_ptr_equal(desk_sa_out("out-4"), sa); // unchanged, so it is the same
	assert_false(configure_grace_over(&desk));  // the worker may still use it
	desk_worker_passes();
	assert_true(configure_grace_over(&desk));
	configure_retire(&desk);
	assert_null(desk.retired);
	assert_false(configure_grace_over(&desk));
}

// Not before the control thread has found out whether its local address may be used.
static void test_new_sa_is_used_from_its_link_on(void **state)
{
	struct conf *conf = desk_conf("", "esn = true;");
	struct snapshot *s;
	char why[256];
	uint16_t number = spd_at(desk.snapshot->spd, 1)->number;
	struct sa_out *_Atomic *out = &desk.snapshot->objects->policy_out[number];
	struct sa_out *before = *out;

	(void)state;
	s = configure_build(&desk, conf, why, sizeof(why));
	assert_non_null(s);
	assert_ptr_equal(before, desk_sa_out("out-4"));
	assert_ptr_not_equal(before, spd_at(s->spd, 1)->out);
	assert_int_equal(build_commit(s, conf), 0);
	assert_ptr_equal(*out, before);
	build_link(s, desk.snapshot);
	assert_ptr_equal(*out, spd_at(s->spd, 1)->out);
	desk.retired = desk.snapshot;
	desk.snapshot = s;
	configure_retire(&desk);
	conf_free(desk.conf);
	desk.conf = conf;
}

// Workers may still go by the former policies, which belong to the former routes.
static void test_routes_change_after_policies(void **state)
{
	const struct ip_addr to = addr_of("10.2.0.7");
	struct conf *conf = desk_conf("", "");

	(void)state;
	conf->routes[1].to.addr = addr_of("10.7.0.0");
	desk_worker_begins();
	desk_replace(conf);
	assert_int_equal(route_of(route_find(desk.snapshot->routes, &to))->to.len, 120);
	desk_worker_passes();
	assert_true(configure_grace_over(&desk));
	configure_retire(&desk);
	assert_int_equal(route_of(route_find(desk.snapshot->routes, &to))->to.len, 96);
}

// Decisions about flows are not carried over a reload that makes SAs standby.
static void test_standby_decides_again(void **state)
{
	static const char standby[] = "groups = ( { name = \"main\"; role = \"standby\"; "
				      "addresses = [ \"192.0.2.1\" ]; } );";

	(void)state;
	desk_reload("", "");
	assert_int_not_equal(desk.snapshot->carried, 0);
	desk_reload(standby, "");
	assert_int_equal(desk.snapshot->carried, 0);
	desk_reload(standby, "");
	assert_int_not_equal(desk.snapshot->carried, 0);
}

static void test_neighbours(void **state)
{
	struct ip_addr b = addr_of("192.0.2.2");
	struct neigh_view view;

	(void)state;
	desk.conf->n_neighbours = 0; // as if the first had none
	assert_true(neigh_has(desk.neigh, WAN, &b));
	desk_reload("", "");
	assert_int_equal(neigh_list(desk.neigh, &view, 1, 0, desk_now), 1);
	assert_int_equal(view.state, NEIGH_STATIC);
}

static void test_memory_waits_for_workers(void **state)
{
	(void)state;
	desk_worker_begins();
	retire(&desk, line_calloc(1, 100));
	retire(&desk, NULL);
	retire_tick(&desk);
	assert_true(desk_waits());
	desk_worker_passes();
	retire(&desk, line_calloc(1, 100)); // which the worker may have again
	retire_tick(&desk);
	assert_true(desk_waits());
	desk_worker_passes();
	retire_tick(&desk);
	assert_false(desk_waits());
}

// A worker's event about a drop by an SA, the count-th for the reason.
static void dropped(const char *sa, uint64_t count)
{
	struct sa_in *in = desk_sa_in(sa);

	desk_sa_counted(sa)->drops[DROP_OF_SA_REPLAY] = count;
	desk_event((struct event){.kind = EVENT_AUDIT,
		.reason = DROP_REPLAY,
		.sa = &in->sa,
		.spi = in->sa.spi,
		.seq = RTE_BE32(7),
		.addr = addr_of("192.0.2.2"),
		.peer = addr_of("192.0.2.1"),
		.count = count});
}

static void test_audit(void **state)
{
	(void)state;
	dropped("in-4", 1);
	desk_expect_log("audit event=replay sa=in-4 spi=0x00001004 source=192.0.2.2 "
			"destination=192.0.2.1 seq=7 more=0");
	desk_forget();
	dropped("in-4", 5); // at once: no line
	desk_expect_no_log();
	desk_wait(500);
	dropped("in-4", 9);
	desk_expect_log("seq=7 more=7");
	desk_forget();
	desk_sa_counted("in-4")->drops[DROP_OF_SA_REPLAY] = 12;
	desk_wait(1900);
	desk_expect_no_log();
	desk_wait(200);
	desk_expect_log("audit event=replay sa=in-4 more=3");
	desk_wait(3000); // and forgets it
	desk_forget();
	dropped("in-4", 13);
	desk_expect_log("more=0");
}

static void test_audit_retire(void **state)
{
	(void)state;
	dropped("in-4", 1);
	desk_sa_counted("in-4")->drops[DROP_OF_SA_REPLAY] = 4;
	desk_reload("audit = \"none\";", "");
	desk_forget();
	assert_true(configure_grace_over(&desk));
	configure_retire(&desk);
	desk_expect_log("audit event=replay sa=in-4 more=3");
}

static struct event by_rule(uint32_t rule)
{
	return (struct event){.kind = EVENT_RULE,
		.port = LAN,
		.rule = rule,
		.proto = 6,
		.addr = addr_of("10.1.0.5"),
		.addr_port = RTE_BE16(1024),
		.peer = addr_of("10.2.0.5"),
		.peer_port = RTE_BE16(80)};
}

static void test_rules(void **state)
{
	struct event ping = by_rule(0);

	(void)state;
	desk_reload("rules = ( { name = \"web\"; action = \"accept\"; log = true; } );", "");
	desk_forget();
	desk_event(by_rule(0));
	desk_expect_log("rule \"web\" accepts: port \"lan\", protocol tcp, 10.1.0.5:1024 to "
			"10.2.0.5:80\n");
	ping.has_icmp_type = true;
	ping.icmp_type = 8;
	ping.proto = 1;
	desk_event(ping);
	desk_expect_log("protocol icmp type 8, 10.1.0.5 to 10.2.0.5\n");
	for (unsigned int i = 0; i < 20; i++)
		desk_event(by_rule(0));
	desk_forget();
	desk_event(by_rule(0));
	desk_expect_no_log(); // 20 in a second
	desk_wait(1000);
	desk_event(by_rule(0));
	desk_expect_log("3 lines about rules suppressed\nrule \"web\" accepts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_unchanged_sa_outlives_replacement),
		desk_test(test_new_sa_is_used_from_its_link_on),
		desk_test(test_routes_change_after_policies),
		desk_test(test_standby_decides_again),
		desk_test(test_neighbours),
		desk_test(test_memory_waits_for_workers),
		desk_test(test_audit),
		desk_test(test_audit_retire),
		desk_test(test_rules),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
