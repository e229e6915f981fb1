// SPDX-License-Identifier: BSD-3-Clause
// SAs and policies of an IKE daemon outlive reloads, and are freed when no worker can use them any
// more; thousands of them are listed exactly once.
#include "configure.h"
#include "events.h"
#include "ike.h"
#include "ike_desk.h"
#include "ike_tables.h"
#include "sa_table.h"
#include "retire.h"

// --- reloads ---

// A number for which the lists of the previous snapshot were too short.
static void test_objects_outlive_reload(void **state)
{
	struct sa_out *out;
	struct sa_in *in;
	const struct sa_path *path;
	char name[16];

	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		ask_pair(name, 0x10000 + 16 * i, 1 + i);
	}
	ask_policy("p", "10.4.0.0/24", 1, "mss_clamp = 1000;");
	ask_done();
	out = desk_sa_out("ike.t0.out");
	in = desk_sa_in("ike.t0.in");
	out->seq = 77;
	desk_sa_counted("ike.t0.out")->packets = 77;
	replay_commit(&in->sa.per_packet.replay, 55);
	for (unsigned int i = 0; i < 3; i++) {
		path = sa_out_path(out);
		desk_reload(i % 2 == 0 ? "audit = \"none\";" : "", "");
		assert_ptr_equal(desk_sa_out("ike.t0.out"), out);
		assert_ptr_equal(desk_sa_in("ike.t0.in"), in);
		assert_ptr_not_equal(sa_out_path(out), path);
		assert_ptr_equal(sa_out_path(out)->nexthop, desk_route(&out->sa.opt.remote));
		assert_int_equal(out->seq, 77);
		assert_int_equal(desk_sa_counted("ike.t0.out")->packets, 77);
		assert_int_equal(replay_top(&in->sa.per_packet.replay), 55);
		assert_int_equal(listed_sas(), CONFIGURED_SAS + 200);
		assert_true(running_clamps_mss(desk.snapshot));
		expect_sender("ike.p", "ike.t0.out");
		assert_true(configure_grace_over(&desk));
		configure_retire(&desk);
		ask_add("sa del ike.t%u.out\nsa del ike.t%u.in\n", 10 + i, 10 + i);
		snprintf(name, sizeof(name), "n%u", i);
		ask_pair(name, 0x90000 + 16 * i, 500 + i);
		ask_done();
	}
	ask_now("flush");
	expect_only_configured();
}

static void test_reload_collides(void **state)
{
	char why[256] = "";
	struct conf *conf;

	(void)state;
	ask_sa("a", "in", 0x2006, 7, "");
	ask_done();
	conf = desk_conf("", "");
	for (unsigned int i = 0; i < conf->n_sas; i++)
		if (strcmp(conf->sas[i].live.name, "in-nat") == 0)
			conf->sas[i].opt.spi = 0x2006;
	assert_null(configure_build(&desk, conf, why, sizeof(why)));
	assert_string_equal(why, "sa \"in-nat\": IKE uses its SPI 0x00002006");
	ask_sa("b", "in", 0x2007, 7, "");
	ask_done();
	ask_now("sa del ike.a"); // its flows still have that ingress
	assert_null(configure_build(&desk, conf, why, sizeof(why)));
	ask_now("flush");
	desk_settle();
	build_snapshot_free(configure_build(&desk, conf, why, sizeof(why)));
	conf_free(conf);
}

// --- objects that workers may still use ---

// Read under the address sanitizer.
static void use(const struct sa_out *sa)
{
	assert_true(sa->sa.begun);
	assert_non_null(sa_out_path(sa));
}

static void test_deleted_sa_waits_for_workers(void **state)
{
	struct sa_out *out;
	struct snapshot *before;

	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	desk_settle();
	desk_worker_begins();
	out = desk_sa_out("ike.a.out");
	before = desk.snapshot;
	ask_now("policy del ike.p\nsa del ike.a.in\nsa del ike.a.out");
	expect_only_configured();
	for (unsigned int i = 0; i < 5; i++) {
		desk_tick();
		use(out);
		assert_null(snapshot_find_in(before, RTE_BE32(0x10000)));
	}
	desk_loading(true);
	desk_worker_passes();
	desk_tick();
	use(out); // the snapshot that is being built may refer to it
	desk_loading(false);
	desk_tick();
	assert_true(desk_waits()); // the policy: taken out, to be released
	desk_tick();
	assert_true(desk_waits());
	desk_worker_passes();
	desk_tick();
	desk_worker_passes();
	desk_tick();
	assert_false(desk_waits());
}

// A snapshot that is being made has the next generation: the running one must not take it.
static void test_generation_of_load(void **state)
{
	uint32_t generation;

	(void)state;
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	ask_now("policy del ike.p");
	retire_tick(&desk); // takes it out
	generation = desk_generation();
	desk_loading(true);
	objects_commit(&desk);
	assert_int_equal(desk_generation(), generation);
	desk_loading(false);
	objects_commit(&desk);
	assert_int_equal(desk_generation(), generation + 1);
}

// Its generation ends after the load: until then events name it, and no line about it outlives it.
static void test_drop_of_an_sa_deleted_while_loading(void **state)
{
	struct event e = {.kind = EVENT_AUDIT, .reason = DROP_REPLAY, .count = 1};

	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_done();
	e.sa = &desk_sa_in("ike.a.in")->sa;
	desk_sa_counted("ike.a.in")->drops[DROP_OF_SA_REPLAY] = 1;
	desk_loading(true);
	ask_now("sa del ike.a.in");
	desk_event(e);
	assert_int_equal(desk.audit.n, 1);
	desk_loading(false);
	desk_settle();
	assert_int_equal(desk.audit.n, 0);
}

// It may be freed before the former configuration, of whose generation the event is.
static void test_drop_of_a_freed_sa(void **state)
{
	struct event e = {.kind = EVENT_AUDIT, .reason = DROP_REPLAY, .count = 1};

	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_done();
	e.generation = desk_generation();
	e.sa = &desk_sa_in("ike.a.in")->sa;
	desk_reload("", "");
	ask_now("sa del ike.a.in");
	desk_settle();
	assert_int_equal(desk.retired->generation, e.generation);
	event_handle(&desk, &e, desk_now);
	assert_int_equal(desk.audit.n, 0);
}

static void test_stop_while_loading(void **state)
{
	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	desk_loading(true); // until the end
}

// A start that fails has made no snapshot.
static void test_stop_at_start(void **state)
{
	struct control c = {.qsbr = desk.qsbr};

	(void)state;
	configure_stop(&c);
	assert_null(c.retired_memory);
}

// Decisions of flows have no generation 0, and are being written in the last one.
static void test_generations_wrap(void **state)
{
	struct conf *conf;
	struct snapshot *s;
	char why[256];

	(void)state;
	desk_generation_set(UINT32_MAX - 1);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	assert_int_equal(desk_generation(), 1);
	assert_int_equal(desk_flow_generation(), 1);
	desk_generation_set(UINT32_MAX - 1);
	conf = desk_conf("", "");
	s = configure_build(&desk, conf, why, sizeof(why));
	assert_int_equal(s->generation, 1);
	build_snapshot_free(s);
	conf_free(conf);
}

// While a policy is replaced, there is always one that decides.
static void test_always_a_policy_decides(void **state)
{
	const struct spd_policy *found;
	struct classifier_key key = {
		.source = addr_of("10.1.0.5"), .destination = addr_of("10.4.0.5"), .proto = 17};

	(void)state;
	desk_worker_begins();
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	for (unsigned int i = 0; i < 20; i++) {
		ask_policy(i % 2 == 0 ? "q" : "p", "10.4.0.0/24", 7, "");
		ask_add("policy del ike.%s\n", i % 2 == 0 ? "p" : "q");
		ask_done();
		found = ike_policy_for(&key);
		assert_non_null(found);
		assert_string_equal(found->name, i % 2 == 0 ? "ike.q" : "ike.p");
		assert_ptr_equal(found->out, desk_sa_out("ike.a.out"));
		for (unsigned int k = 0; k < 3; k++) {
			desk_worker_passes();
			desk_tick();
		}
		assert_false(desk_waits());
	}
	assert_in_range(ike_policy_slots(), 1, 2);
}

// --- packets that need an SA ---

static struct event needed(const char *of)
{
	return (struct event){.kind = EVENT_SA_NEEDED,
		.port = LAN,
		.addr = addr_of("10.1.0.5"),
		.peer = addr_of("10.4.0.5"),
		.proto = 17,
		.addr_port = RTE_BE16(1000),
		.peer_port = RTE_BE16(53),
		.policy = listed_policy(of)->number};
}

static void test_acquire(void **state)
{
	static const char expected[] =
		"event=acquire\tseverity=info\tpolicy=ike.p\treqid=7\tif_id=0\tsource=10.1.0.5\t"
		"destination=10.4.0.5\tproto=17\tsource_port=1000\tdestination_port=53";
	struct event old;

	(void)state;
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	desk_forget();
	desk_event(needed("ike.p"));
	desk_expect_event(expected);
	desk_event(needed("ike.p"));
	desk_wait(900);
	desk_event(needed("ike.p"));
	desk_expect_no_event();
	desk_wait(100);
	desk_event(needed("ike.p"));
	desk_expect_event(expected);
	desk_wait(2000);
	old = needed("ike.p");
	old.generation = desk_flow_generation();
	ask_pair("other", 0x30000, 8); // changes of another tunnel
	ask_done();
	ask_now("sa del ike.other.out\nsa del ike.other.in");
	assert_int_not_equal(desk_generation(), old.generation);
	desk_forget();
	event_handle(&desk, &old, desk_now);
	desk_expect_event(expected);
	desk_wait(2000);
	old = needed("ike.p");
	ask_now("policy del ike.p");
	desk_forget();
	desk_event(old); // is not gone for workers
	desk_expect_no_event();
}

// --- many ---

#define MANY 10000

struct many {
	bool in, out, policy;
};

static struct many many[MANY];

static bool is_inbound_of_ike(const struct sa *sa)
{
	return sa->opt.direction == SA_IN && strncmp(sa->live.name, "ike.", 4) == 0;
}

static void check_places(void)
{
	unsigned int sas = 0, policies = 0;
	struct sa *sa;
	char name[32];

	for (unsigned int i = 0; i < MANY; i++) {
		sas += many[i].in + many[i].out;
		policies += many[i].policy;
		snprintf(name, sizeof(name), "ike.%u.in", i);
		assert_int_equal(ike_sa_find(&desk, name) != NULL, many[i].in);
		snprintf(name, sizeof(name), "ike.%u.out", i);
		assert_int_equal(ike_sa_find(&desk, name) != NULL, many[i].out);
		snprintf(name, sizeof(name), "ike.%u", i);
		assert_int_equal(ike_policy_find(&desk, name) != NULL, many[i].policy);
	}
	// Lists have as many, all of which are found by name, and none twice.
	assert_int_equal(running_sas(desk.snapshot), CONFIGURED_SAS + sas);
	assert_int_equal(running_policies(desk.snapshot), CONFIGURED_POLICIES + policies);
	assert_int_equal(ike_tunnels(), policies);
	for (unsigned int i = 0; (sa = running_sa_at(desk.snapshot, i)) != NULL; i++) {
		if (!is_inbound_of_ike(sa))
			continue;
		assert_ptr_equal(ike_sa_get(ike_sa_find(&desk, sa->live.name)), sa);
		assert_ptr_equal(desk_sa_by_spi(rte_be_to_cpu_32(sa->spi)), sa);
		sa->seen_ms = sa->seen_ms == 0; // none is listed twice
		assert_int_equal(sa->seen_ms, 1);
	}
	for (unsigned int i = 0; (sa = running_sa_at(desk.snapshot, i)) != NULL; i++)
		if (is_inbound_of_ike(sa))
			sa->seen_ms = 0;
}

static void change(unsigned int i)
{
	struct many *m = &many[i];
	char name[16], remote[32];
	static unsigned int spi = 0x10000;

	snprintf(name, sizeof(name), "%u.in", i);
	if (m->in)
		ask_add("sa del ike.%s\n", name);
	else
		ask_sa(name, "in", spi++, i / 3 + 1, "");
	snprintf(name, sizeof(name), "%u.out", i);
	if (m->out)
		ask_add("sa del ike.%s\n", name);
	else
		ask_sa(name, "out", spi++, i / 3 + 1, "");
	snprintf(name, sizeof(name), "%u", i);
	snprintf(remote, sizeof(remote), "20.%u.%u.0/24", i / 256, i % 256);
	if (m->policy)
		ask_add("policy del ike.%s\n", name);
	else
		ask_policy(name, remote, i / 3 + 1, "");
	ask_done();
	*m = (struct many){!m->in, !m->out, !m->policy};
}

static void test_many(void **state)
{
	(void)state;
	srand(1);
	memset(many, 0, sizeof(many));
	for (unsigned int i = 0; i < MANY; i++) {
		change(i);
		if (i % 50 == 0)
			desk_settle();
	}
	check_places();
	for (unsigned int i = 0; i < MANY; i++) {
		change((unsigned int)rand() % MANY);
		if (i % 50 == 0)
			desk_settle();
	}
	check_places();
	desk_reload("", "");
	check_places();
	configure_retire(&desk);
	for (unsigned int i = 0; i < MANY; i++)
		if (many[i].in)
			change(i);
	memset(many, 0, sizeof(many));
	check_places();
	expect_only_configured();
	desk_settle();
	// Most are deleted by the end of the test.
	for (unsigned int i = 0; i < MANY / 10; i++)
		change(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ike_desk_test(test_objects_outlive_reload),
		ike_desk_test(test_reload_collides),
		ike_desk_test(test_deleted_sa_waits_for_workers),
		ike_desk_test(test_generation_of_load),
		ike_desk_test(test_drop_of_an_sa_deleted_while_loading),
		ike_desk_test(test_drop_of_a_freed_sa),
		ike_desk_test(test_stop_while_loading),
		ike_desk_test(test_stop_at_start),
		ike_desk_test(test_generations_wrap),
		ike_desk_test(test_always_a_policy_decides),
		ike_desk_test(test_acquire),
		ike_desk_test(test_many),
	};

	return cmocka_run_group_tests_name("ike_life", tests, harness_start, harness_stop);
}
