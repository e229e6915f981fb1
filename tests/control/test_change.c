// SPDX-License-Identifier: BSD-3-Clause
// Changes of the configuration in its place: workers and lists find the new SAs, those of IKE stay,
// and changes that concern other items are left to a configuration that is made as a whole.
#include "change.h"
#include "conf_apply.h"
#include "conf_print.h"
#include "events.h"
#include "ike_desk.h"
#include "sas.h"

#define SA(name, direction, spi, more)                                                             \
	"sa add { name = \"" name "\"; direction = \"" direction "\"; spi = \"0x" spi              \
	"\"; local = \"192.0.2.1\"; remote = \"192.0.2.2\"; " more                                 \
	"cipher = \"aes-128-gcm\"; cipher_key = \"" spi                                            \
	"101112131415161718191a1b1c1d1e1f0000\"; }\n"
#define ask(text) ask_now("%s", text)
#define BOTH      SA("new-in", "in", "5001", "") SA("new-out", "out", "5002", "")

static int begin_rc; // of the sequence numbers of a new SA

static int begin(void *arg, struct sa *sa, bool new_keys)
{
	(void)arg, (void)sa;
	assert_true(new_keys);
	return begin_rc;
}

// How many items were changed; 0: it is for a configuration as a whole.
static unsigned int change(const char *text)
{
	struct conf_edit *e = change_in_place(&desk, "test", text, strlen(text), true, begin, NULL);
	unsigned int n = e != NULL ? e->n : 0;

	conf_edit_free(e);
	return n;
}

static void check_listed(const char *names)
{
	char all[1024] = "";

	for (unsigned int i = 0; i < running_sas(desk.snapshot); i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ",
			running_sa_at(desk.snapshot, i)->live.name);
	assert_string_equal(all, names);
}

static void test_added(void **state)
{
	uint32_t generation = desk_generation(), flow_generation = desk_flow_generation();

	(void)state;
	assert_int_equal(change(BOTH), 2);
	assert_ptr_equal(desk_sa_by_spi(0x5001), desk_sa_in("new-in"));
	assert_non_null(sa_out_path(desk_sa_out("new-out"))->nexthop);
	assert_int_equal(desk_generation(), generation + 1);
	assert_int_equal(desk_flow_generation(), flow_generation);
	check_listed("out-6 out-4 out-nat new-out in-6 in-4 in-nat new-in ");
}

// A configuration that is made as a whole afterwards has the same SAs.
static void test_kept_by_the_next_configuration(void **state)
{
	const struct sa_out *out;

	(void)state;
	assert_int_equal(change(BOTH), 2);
	out = desk_sa_out("new-out");
	desk_replace(conf_copy(desk.conf, stderr));
	assert_ptr_equal(desk_sa_out("new-out"), out);
	assert_ptr_equal(desk_sa_by_spi(0x5001), desk_sa_in("new-in"));
	check_listed("out-6 out-4 out-nat new-out in-6 in-4 in-nat new-in ");
}

static void test_deleted_after_a_grace_period(void **state)
{
	(void)state;
	assert_int_equal(change(BOTH), 2);
	desk_worker_begins();
	assert_int_equal(change("sa del new-in"), 1);
	assert_null(desk_sa_by_spi(0x5001));
	check_listed("out-6 out-4 out-nat new-out in-6 in-4 in-nat ");
	desk_tick();
	assert_int_equal(desk.sas_leaving, 1);
	desk_worker_passes();
	desk_tick();
	assert_int_equal(desk.sas_leaving, 0);
	rte_rcu_qsbr_thread_offline(desk.qsbr, 0);
}

// Their places in the list are those after the configuration's.
static void test_sas_of_ike_stay(void **state)
{
	(void)state;
	ask(SA("ike.a", "in", "7001", "reqid = 7; ") SA("ike.b", "in", "7002", "reqid = 7; "));
	assert_int_equal(change(BOTH), 2);
	check_listed("out-6 out-4 out-nat new-out in-6 in-4 in-nat new-in ike.a ike.b ");
	assert_int_equal(change("sa del new-in"), 1);
	desk_settle();
	ask("sa del ike.a");
	desk_settle();
	check_listed("out-6 out-4 out-nat new-out in-6 in-4 in-nat ike.b ");
	ask("sa del ike.b");
	desk_settle();
	check_listed("out-6 out-4 out-nat new-out in-6 in-4 in-nat ");
}

static char *printed(void)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	conf_print(desk.conf, f);
	fclose(f);
	return text;
}

static void check_as_a_whole(const char *text)
{
	char *before = printed(), *after;
	uint32_t generation = desk_generation();
	unsigned int n = running_sas(desk.snapshot);

	if (change(text) > 0)
		fail_msg("done in place: %s", text);
	after = printed();
	assert_string_equal(before, after);
	assert_int_equal(desk_generation(), generation);
	assert_int_equal(running_sas(desk.snapshot), n);
	free(before);
	free(after);
}

static void test_changes_that_concern_more(void **state)
{
	static const char *const texts[] = {"sa del in-4", "sa set in-4 { replay_window = 128; }",
		SA("in-4", "in", "5003", ""), SA("x", "in", "1004", ""), "sa del nothing", "",
		SA("x", "in", "5003", "udp = { local_port = 7000; }; "),
		SA("x", "out", "5003", "tfc = { dummies = 10; }; "),
		SA("x", "in", "5003", "nothing = 1; "), BOTH BOTH, BOTH "sa del new-in",
		"sa del new-in\n" BOTH, "rule add { name = \"r\"; action = \"drop\"; }",
		SA("x", "in", "7001", ""),
		"sa add { name = \"x\"; direction = \"out\"; spi = \"0x5004\"; local = "
		"\"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; "
		"cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a3\"; }"};

	(void)state;
	ask(SA("ike.a", "in", "7001", "reqid = 7; "));
	for (unsigned int i = 0; i < COUNT_OF(texts); i++)
		check_as_a_whole(texts[i]);
	begin_rc = -ENOMEM;
	check_as_a_whole(BOTH);
	begin_rc = 0;
	assert_int_equal(change(BOTH), 2);
}

// Its numbers go on in a configuration as a whole, which continues those of the former SA.
static void test_key_of_an_sa_that_leaves(void **state)
{
	(void)state;
	assert_int_equal(change(BOTH), 2);
	desk_worker_begins();
	assert_int_equal(change("sa del new-out"), 1);
	assert_int_equal(change(SA("new-out", "out", "5002", "")), 0);
	desk_worker_passes();
	desk_settle();
	assert_int_equal(change(SA("new-out", "out", "5002", "")), 1);
	rte_rcu_qsbr_thread_offline(desk.qsbr, 0);
}

// --- events that workers posted before a change ---

// The first drop by an SA for a reason.
static struct event first_drop(const char *name)
{
	const struct sa_in *in = desk_sa_in(name);

	desk_sa_counted(name)->drops[DROP_OF_SA_REPLAY] = 1;
	return (struct event){.kind = EVENT_AUDIT,
		.generation = desk_generation(),
		.reason = DROP_REPLAY,
		.sa = &in->sa,
		.spi = in->sa.spi,
		.addr = addr_of("192.0.2.2"),
		.peer = addr_of("192.0.2.1"),
		.count = 1};
}

static void test_drops_before_a_change_are_logged(void **state)
{
	struct event e = first_drop("in-4"), nat = first_drop("in-nat");

	(void)state;
	assert_int_equal(change(BOTH), 2);
	desk_forget();
	event_handle(&desk, &e, desk_now);
	desk_expect_log("audit event=replay sa=in-4 spi=0x00001004");
	assert_int_equal(change("sa del new-in"), 1);
	event_handle(&desk, &nat, desk_now);
	desk_expect_log("audit event=replay sa=in-nat");
}

// Until it is freed; then an event about it names no SA any more.
static void test_drops_of_a_deleted_sa_are_logged(void **state)
{
	struct event e;

	(void)state;
	assert_int_equal(change(BOTH), 2);
	e = first_drop("new-in");
	desk_worker_begins();
	assert_int_equal(change("sa del new-in"), 1);
	desk_forget();
	event_handle(&desk, &e, desk_now);
	desk_expect_log("audit event=replay sa=new-in spi=0x00005001");
	// The worker still drops.
	sas_counted(e.sa, 0)->drops[DROP_OF_SA_REPLAY] = 4;
	desk_worker_passes();
	desk_tick();
	desk_expect_log("audit event=replay sa=new-in more=3");
	assert_int_equal(desk.audit.n, 0);
	desk_forget();
	event_handle(&desk, &e, desk_now);
	desk_expect_no_log();
	assert_int_equal(desk.audit.n, 0);
	rte_rcu_qsbr_thread_offline(desk.qsbr, 0);
}

static void test_generations_begin_again(void **state)
{
	struct event e;

	(void)state;
	desk_generation_set(FLOW_DECIDING - 1);
	desk.oldest_generation = desk_generation();
	e = first_drop("in-4");
	assert_int_equal(change(BOTH), 2);
	assert_int_equal(desk_generation(), 1);
	desk_forget();
	event_handle(&desk, &e, desk_now);
	desk_expect_log("audit event=replay sa=in-4");
}

static void test_path_mtu_before_a_change_is_probed(void **state)
{
	const struct sa_out *sa = desk_sa_out("out-4");
	struct event e = {.kind = EVENT_PMTU,
		.generation = desk_generation(),
		.port = WAN,
		.addr = addr_of("192.0.2.2"),
		.peer = addr_of("192.0.2.254"),
		.mtu = 1400,
		.spi = sa->sa.spi,
		.sa = &sa->sa};

	(void)state;
	desk_wait(1000);
	e.seq = rte_cpu_to_be_32((uint32_t)atomic_load(&sa->seq));
	assert_int_equal(change(BOTH), 2);
	desk_forget();
	event_handle(&desk, &e, desk_now);
	assert_int_equal(desk_n_sent, 1);
	assert_int_equal(desk_sent[0].len, ETH_LEN + 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ike_desk_test(test_added),
		ike_desk_test(test_kept_by_the_next_configuration),
		ike_desk_test(test_deleted_after_a_grace_period),
		ike_desk_test(test_sas_of_ike_stay),
		ike_desk_test(test_changes_that_concern_more),
		ike_desk_test(test_key_of_an_sa_that_leaves),
		ike_desk_test(test_drops_before_a_change_are_logged),
		ike_desk_test(test_drops_of_a_deleted_sa_are_logged),
		ike_desk_test(test_generations_begin_again),
		ike_desk_test(test_path_mtu_before_a_change_is_probed),
	};

	return cmocka_run_group_tests_name("change", tests, harness_start, harness_stop);
}
