// SPDX-License-Identifier: BSD-3-Clause
// The flow table one call at a time: look-up, decisions, ageing, lists, flushes.
#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "addrs.h"
#include "flows.h"

// An entry made for one packet is found for the next of the same burst, and for the reply.
static void test_burst(void **state)
{
	struct flow_pkt p[FLOW_BURST_MAX];
	struct flow *f[FLOW_BURST_MAX], *made;
	struct flows s;

	(void)state;
	flows_init(&s, 1000, 1, NULL);
	for (uint16_t i = 0; i < FLOW_BURST_MAX; i++)
		p[i] = i % 2 == 0 ? pkt_udp(HOST_A, (uint16_t)(i / 4), HOST_B, 9)
				  : pkt_udp(HOST_B, 9, HOST_A, (uint16_t)(i / 4));
	flows_find(s.t, p, f, FLOW_BURST_MAX);
	for (unsigned int i = 0; i < FLOW_BURST_MAX; i++) {
		assert_null(f[i]);
		assert_int_equal(flows_pass(&s, 0, &p[i], 1, &f[i]), DROP_NONE);
		assert_ptr_equal(f[i], f[i / 4 * 4]);
	}
	assert_int_equal(flow_count(s.t), FLOW_BURST_MAX / 4);
	for (unsigned int n = 0; n <= FLOW_BURST_MAX; n++) {
		struct flow *g[FLOW_BURST_MAX] = {NULL};

		flows_find(s.t, p, g, n);
		for (unsigned int i = 0; i < FLOW_BURST_MAX; i++)
			assert_ptr_equal(g[i], i < n ? f[i] : NULL);
	}
	// An insertion finds an existing entry.
	assert_int_equal(flow_insert(s.t, 0, &p[0], NULL, 0, 1, NULL, &made), FLOW_EXISTS);
	assert_ptr_equal(made, f[0]);
	assert_int_equal(flow_count(s.t), FLOW_BURST_MAX / 4);
	flow_remove(s.t, 0, f[0], 0);
	flow_remove(s.t, 0, f[0], 0);
	assert_int_equal(flow_count(s.t), FLOW_BURST_MAX / 4 - 1);
	assert_null(flows_find_one(s.t, &p[0]));
	flows_find(s.t, p, f, FLOW_BURST_MAX);
	assert_null(f[0]);
	assert_non_null(f[4]);
	flows_fini(&s);
	flow_table_free(NULL);
}

static void test_counts(void **state)
{
	struct flow_pkt a = pkt_udp(HOST_A, 1, HOST_B, 2), b = pkt_udp(HOST_B, 2, HOST_A, 1);
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	for (unsigned int i = 0; i < 10; i++)
		flows_pass_to(&s, a, i, FLOW_UDP_NEW, FLOW_CT_NEW);
	for (unsigned int i = 0; i < 3; i++)
		flows_pass_to(&s, b, 100 + i, FLOW_UDP_REPLIED, FLOW_CT_ESTABLISHED);
	f = flows_find_one(s.t, &a);
	assert_int_equal(f->dir[a.dir].packets, 10);
	assert_int_equal(f->dir[a.dir].octets, 280);
	assert_int_equal(f->dir[b.dir].packets, 3);
	assert_int_equal(f->dir[a.dir].seen, 9);
	assert_int_equal(f->dir[b.dir].seen, 102);
	flows_fini(&s);
}

static void test_decision(void **state)
{
	struct flow_pkt p = pkt_udp(HOST_A, 1, HOST_B, 2);
	struct flow_decision in = {
		.by = {{1, 6, 7, 0}}, .egress = flow_egress_protect((void *)64), .ingress = 5};
	struct flow_decision out = {0};
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	flows_pass_to(&s, p, 0, FLOW_UDP_NEW, FLOW_CT_NEW);
	f = flows_find_one(s.t, &p);
	assert_false(flow_decision_get(f, 0, 1, &out));
	flow_decision_set(f, 0, 1, &in);
	assert_true(flow_decision_get(f, 0, 1, &out));
	assert_memory_equal(
		&in, &out, offsetof(struct flow_decision, ingress) + sizeof(in.ingress));
	assert_false(flow_decision_get(f, 1, 1, &out));
	assert_false(flow_decision_get(f, 0, 2, &out));
	flow_decision_set(f, 0, 2, &in);
	assert_false(flow_decision_get(f, 0, 1, &out));
	assert_true(flow_decision_get(f, 0, 2, &out));
	in.egress = flow_egress_clear((void *)32);
	flow_decision_replace(f, 0, out.mark, 2, &in);
	assert_true(flow_decision_get(f, 0, 2, &out));
	assert_memory_equal(
		&in, &out, offsetof(struct flow_decision, ingress) + sizeof(in.ingress));
	assert_null(flow_egress_sa(out.egress));
	assert_ptr_equal(flow_egress_nexthop(out.egress), (void *)32);
	flow_decision_forget(f, 0);
	assert_false(flow_decision_get(f, 0, 2, &out));
	flow_decision_replace(f, 0, out.mark, 2, &out); // which was read before
	assert_false(flow_decision_get(f, 0, 2, &out));
	flow_decision_set(f, 0, 2, &in);
	assert_true(flow_decision_get(f, 0, 2, &out));
	flows_fini(&s);
}

// A flow that begins with a decision has it for that direction alone; one that is there keeps its
// own.
static void test_begins_decided(void **state)
{
	const struct flow_decision d = {
		.by = {{.in = 1, .out = 2, .rule = 3}}, .egress = 32, .ingress = 4, .mark = 7};
	struct flow_decision other = d, found;
	struct flows s;
	struct flow *f;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	for (unsigned int dir = 0; dir < 2; dir++) {
		struct flow_pkt p =
			dir == 0 ? pkt_udp(HOST_A, 1, HOST_B, 2) : pkt_udp(HOST_B, 3, HOST_A, 4);

		flow_lookup_start(s.t, &p);
		assert_int_equal(flow_insert(s.t, 0, &p, NULL, 0, 0, &d, &f), DROP_NONE);
		assert_true(flow_decision_get(f, p.dir, 7, &found));
		assert_memory_equal(&d, &found, offsetof(struct flow_decision, shown));
		assert_int_equal(found.shown & FLOW_SETTLED, FLOW_SETTLED);
		assert_false(flow_decision_get(f, p.dir, 8, &found));
		assert_int_equal(flow_decision_generation(f, !p.dir), 0);
		assert_int_equal(flow_word_shown(f, !p.dir) & FLOW_SETTLED, 0);
		other.ingress = 5;
		assert_int_equal(flow_insert(s.t, 0, &p, NULL, 0, 0, &other, &f), FLOW_EXISTS);
		assert_true(flow_decision_get(f, p.dir, 7, &found));
		assert_int_equal(found.ingress, 4);
	}
	flows_fini(&s);
}

static void test_timeouts(void **state)
{
	static const struct {
		enum flow_state state;
		uint32_t s;
	} rows[] = {{FLOW_UDP_NEW, 30}, {FLOW_UDP_REPLIED, 30}, {FLOW_UDP_STREAM, 120},
		{FLOW_TCP_ESTABLISHED, 432000}, {FLOW_TCP_SYN_SENT, 120}, {FLOW_TCP_SYN_RECV, 60},
		{FLOW_TCP_FIN_WAIT, 120}, {FLOW_TCP_CLOSE_WAIT, 60}, {FLOW_TCP_LAST_ACK, 30},
		{FLOW_TCP_TIME_WAIT, 120}, {FLOW_TCP_CLOSE, 10}, {FLOW_ICMP_NEW, 30},
		{FLOW_ICMP_REPLIED, 30}, {FLOW_OTHER_NEW, 600}, {FLOW_OTHER_REPLIED, 600},
		{FLOW_TCP_PICKED_UP, 300}};
	struct flow_pkt p = pkt_udp(HOST_A, 1, HOST_B, 2);

	(void)state;
	assert_int_equal(COUNT_OF(rows), FLOW_STATE_COUNT - 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (uint32_t start = 0; start < 2; start++) {
			uint32_t began = start == 0 ? 0 : UINT32_MAX - 5000; // the clock wraps
			struct flow *f;
			struct flows s;

			flows_init(&s, 100, 2, NULL);
			assert_int_equal(flows_pass(&s, 0, &p, began, &f), DROP_NONE);
			atomic_store(&f->word, rows[i].state);
			flows_round(&s, began - 100); // by the clock of a worker that is late
			assert_int_equal(flow_count(s.t), 1);
			flows_round(&s, began + rows[i].s * 1000 - 1);
			assert_int_equal(flow_count(s.t), 1);
			flows_round(&s, began + rows[i].s * 1000);
			assert_int_equal(flow_count(s.t), 0);
			assert_int_equal(flows_count(&s).expired, 1);
			assert_null(flows_find_one(s.t, &p));
			flows_fini(&s);
		}
}

static void test_configure(void **state)
{
	struct flow_pkt p = pkt_udp(HOST_A, 1, HOST_B, 2);
	struct flows s;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	flows_pass_to(&s, p, 0, FLOW_UDP_NEW, FLOW_CT_NEW);
	flows_round(&s, 5000);
	assert_int_equal(flow_count(s.t), 1);
	s.config.timeout_s[FLOW_UDP_NEW] = 5;
	flow_table_configure(s.t, &s.config);
	flows_round(&s, 5000);
	assert_int_equal(flow_count(s.t), 0);
	flows_fini(&s);
}

// When the last of many flows has expired, ms, if workers look at them as those of the daemon.
static uint32_t expired_at(uint32_t timeout_s)
{
	struct flows s;
	uint32_t now = 0;

	flows_init(&s, 8000, 1, NULL);
	s.config.timeout_s[FLOW_UDP_NEW] = timeout_s;
	flow_table_configure(s.t, &s.config);
	for (uint16_t i = 0; i < 8000; i++)
		flows_pass_to(&s, pkt_udp(HOST_A, i, HOST_B, 2), 0, FLOW_UDP_NEW, FLOW_CT_NEW);
	for (; flow_count(s.t) > 0; now++) {
		flows_tick(&s, now, 8000 / FLOW_ROUND_MS + 1);
		assert_true(now >= timeout_s * 1000 || flow_count(s.t) == 8000);
	}
	flows_fini(&s);
	return now;
}

// A flow is late by at most half its timeout, and by no more than a round.
static void test_late(void **state)
{
	static const uint32_t timeouts[] = {1, 2, 3, 5, 7, 9, 20, 60};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(timeouts); i++) {
		uint32_t ms = timeouts[i] * 1000;

		assert_in_range(expired_at(timeouts[i]), ms, ms + RTE_MIN(ms / 2, FLOW_ROUND_MS));
	}
}

// The memory of a removed entry is not reused while a worker may still read it.
static void test_grace(void **state)
{
	struct flow_pkt p = pkt_udp(HOST_A, 1, HOST_B, 2);
	struct flow *f, *g;
	struct flows s;

	(void)state;
	flows_init(&s, 32, 2, NULL);
	flows_pass_to(&s, p, 0, FLOW_UDP_NEW, FLOW_CT_NEW);
	f = flows_find_one(s.t, &p);
	flow_tick(s.t, 0, 31 * 1000, 10000);
	assert_null(flows_find_one(s.t, &p));
	for (unsigned int i = 0; i < 100; i++) { // worker 1 has not been quiescent
		rte_rcu_qsbr_quiescent(s.qsbr, 0);
		flow_tick(s.t, 0, 31 * 1000, 0);
	}
	assert_true(flow_key_equal(&f->key, &p.key));
	assert_int_not_equal(flow_word(f), FLOW_FREE);
	rte_rcu_qsbr_quiescent(s.qsbr, 1);
	flow_tick(s.t, 0, 31 * 1000, 0);
	assert_int_equal(flow_word(f), FLOW_FREE);
	p = pkt_udp(HOST_A, 3, HOST_B, 4);
	flow_lookup_start(s.t, &p);
	assert_int_equal(flow_insert(s.t, 0, &p, NULL, 0, 0, NULL, &g), DROP_NONE);
	assert_ptr_equal(g, f);
	flows_fini(&s);
}

static unsigned int list_all(struct flows *s, const struct flow_filter *filter, unsigned int chunk,
	struct flow_view views[], unsigned int most)
{
	uint32_t position = FLOW_LIST_START;
	unsigned int n = 0;

	while (position != FLOW_LIST_END) {
		unsigned int room = RTE_MIN(chunk, most - n);

		if (room == 0)
			break;
		n += flow_list(s->t, filter, 5000, &position, &views[n], room);
	}
	return n;
}

static void test_list(void **state)
{
	static struct flow_view v[500];
	struct flow_filter any = {0}, filter = {0};
	struct sa_out *_Atomic sa = (void *)0x1234;
	struct flow_decision d = {.egress = flow_egress_protect(&sa), .ingress = 0x5678};
	struct flow_pkt p;
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, 1000, 2, NULL);
	for (uint32_t i = 0; i < 200; i++)
		flows_establish(&s, i, 1000);
	p = pkt_tcp(HOST_A + 7, 3333, HOST_B, 80, SYN, 0, 0);
	assert_int_equal(flows_pass(&s, 1, &p, 2000, &f), DROP_NONE);
	flow_decision_set(f, p.dir, 3, &d);
	for (unsigned int chunk = 1; chunk < 300; chunk += 37)
		assert_int_equal(list_all(&s, &any, chunk, v, COUNT_OF(v)), 201);
	for (unsigned int i = 0; i < 201; i++) // each once
		for (unsigned int j = 0; j < i; j++)
			assert_false(flow_key_equal(&v[i].key, &v[j].key));

	filter.proto = IPPROTO_TCP;
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 1);
	assert_true(flow_key_equal(&v[0].key, &p.key));
	assert_int_equal(v[0].state, FLOW_TCP_SYN_SENT);
	assert_int_equal(v[0].initiator, p.dir);
	assert_false(v[0].replied);
	assert_int_equal(v[0].age_ms, 3000);
	assert_int_equal(v[0].idle_ms, 3000);
	assert_int_equal(v[0].packets[p.dir], 1);
	assert_int_equal(v[0].octets[p.dir], 40);
	assert_int_equal(v[0].packets[!p.dir], 0);
	assert_int_equal(v[0].generation[p.dir], 3);
	assert_int_equal(v[0].generation[!p.dir], 0);
	assert_int_equal(v[0].decision[p.dir].egress, d.egress);

	filter = (struct flow_filter){.ingress = 0x5678, .generation = 3};
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 1);
	filter.generation = 4; // another SA, in the same place
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 0);
	filter = (struct flow_filter){.ingress = 0x9999, .generation = 3};
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 0);
	filter = (struct flow_filter){.sa_out = (void *)0x1234, .generation = 3};
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 1);
	filter.sa_out = (void *)0x4321;
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 0);
	filter = (struct flow_filter){.port = RTE_BE16(80)};
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 1);
	filter = (struct flow_filter){.state = FLOW_UDP_REPLIED};
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 200);
	filter.addr = net_of("10.0.0.0/29");
	filter.state = FLOW_FREE;
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 7);
	filter.addr = net_of("10.0.0.8");
	assert_int_equal(list_all(&s, &filter, 10, v, COUNT_OF(v)), 2);
	flows_fini(&s);
}

static void test_flush(void **state)
{
	struct flow_filter filter = {0}, any = {0};
	struct flows s;

	(void)state;
	flows_init(&s, 1000, 3, NULL);
	for (uint32_t i = 0; i < 255; i++)
		flows_establish(&s, i, 0);
	filter.addr = net_of("10.0.0.128/25");
	assert_int_equal(flow_flush(s.t, &filter), 0);
	assert_int_equal(flow_flush(s.t, &any), -EBUSY);
	flows_round(&s, 0);
	assert_int_equal(flow_count(s.t), 127);
	assert_int_equal(flows_count(&s).flushed, 128);
	for (uint32_t i = 0; i < 255; i++)
		assert_int_equal(flows_has(&s, i), i < 127);
	flows_establish(&s, 200, 0); // created after the flush
	flows_round(&s, 0);
	assert_true(flows_has(&s, 200));
	assert_int_equal(flow_flush(s.t, &any), 0);
	flows_tick(&s, 0, 10);
	assert_int_equal(flow_flush(s.t, &any), -EBUSY);
	flows_round(&s, 0);
	assert_int_equal(flow_count(s.t), 0);
	flows_fini(&s);
}

static uint32_t made(struct flows *s, uint32_t n)
{
	uint32_t count = 0;
	struct flow *f;

	for (uint32_t i = 0; i < n; i++) {
		struct flow_pkt p = pkt_udp(HOST_A + i, 1000, HOST_B, 53);

		count += flows_pass(s, 0, &p, 0, &f) == DROP_NONE;
	}
	return count;
}

// Before the table has all of its memory, it holds fewer flows; lists and flushes end all the same.
static void test_fill(void **state)
{
	static struct flow_view v[60000];
	struct flow_filter any = {0};
	struct flows s;

	(void)state;
	flows_init(&s, COUNT_OF(v), 3, NULL);
	assert_in_range(made(&s, COUNT_OF(v)), 32000, 40000);
	assert_int_equal(list_all(&s, &any, 10, v, COUNT_OF(v)), flow_count(s.t));
	assert_int_equal(flow_flush(s.t, &any), 0);
	flows_round(&s, 0);
	assert_int_equal(flow_count(s.t), 0);
	while (flow_table_fill(s.t))
		;
	assert_int_equal(flow_flush(s.t, &any), 0);
	flows_round(&s, 0);
	assert_int_equal(made(&s, COUNT_OF(v)), COUNT_OF(v));
	assert_int_equal(list_all(&s, &any, 10, v, COUNT_OF(v)), COUNT_OF(v));
	assert_int_equal(flow_flush(s.t, &any), 0);
	flows_round(&s, 0);
	assert_int_equal(flow_count(s.t), 0);
	flows_fini(&s);
}

// A flush reaches every existing flow, also if the table grows meanwhile.
static void test_fill_in_flush(void **state)
{
	struct flow_filter any = {0};
	struct flows s;

	(void)state;
	flows_init(&s, 60000, 1, NULL);
	assert_int_equal(made(&s, 1000), 1000);
	flows_tick(&s, 0, 20000);
	assert_int_equal(flow_flush(s.t, &any), 0);
	flows_tick(&s, 0, 1);
	while (flow_table_fill(s.t))
		;
	flows_tick(&s, 0, 50000);
	assert_int_equal(flow_flush(s.t, &any), 0); // that one is over
	flows_round(&s, 0);
	assert_int_equal(flow_count(s.t), 0);
	assert_int_equal(flows_count(&s).flushed, 1000);
	flows_fini(&s);
}

static void test_memory(void **state)
{
	struct flow_params p = {.capacity = 1000000, .workers = 4};

	(void)state;
	// For each flow 256 octets and a sixteenth more, half a bucket, and two counters of
	// sources (rounded up); and 1 MB for the regions of addresses.
	assert_in_range(flow_table_memory(&p), 314u * 1000000, 318u * 1000000);
}

static long page_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_minflt;
}

// The kernel clears memory for the control thread, which allocates the table, and not for workers.
static void test_no_page_faults(void **state)
{
	struct flows s;
	long before;

	(void)state;
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	flows_init(&s, 100000, 1, NULL);
	while (flow_table_fill(s.t))
		;
	before = page_faults();
	for (uint32_t i = 0; i < 50000; i++)
		flows_establish(&s, i, 1000);
	assert_in_range(page_faults() - before, 0, 100); // stack and other memory
	flows_fini(&s);
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_decision),
		cmocka_unit_test(test_begins_decided),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_configure),
		cmocka_unit_test(test_grace),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_fill_in_flush),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_no_page_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
