// SPDX-License-Identifier: BSD-3-Clause
// A full flow table: which flows are evicted for which, and which new ones are dropped.
#include "flow_table.h"
#include "flows.h"

// Establishes flows from first on, until one is dropped, or n. Returns their number.
static uint32_t fill(struct flows *s, uint32_t first, uint32_t n, uint32_t now)
{
	for (uint32_t i = first; i < first + n; i++) {
		struct flow_pkt p = pkt_udp(HOST_A + i, 1000, HOST_B, 53);
		struct flow *f;

		if (flows_pass(s, 0, &p, now, &f) != DROP_NONE)
			return i - first;
		flows_establish(s, i, now);
		flows_tick(s, now, 1);
	}
	return n;
}

static uint32_t count_left(struct flows *s, uint32_t first, uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t i = first; i < first + n; i++)
		left += flows_has(s, i);
	return left;
}

// A full table takes new flows as fast as they arrive: the entries of evicted ones do not wait for
// the next tick, only for workers to pass on.
static void test_full_between_ticks(void **state)
{
	const uint32_t capacity = 1024;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 2, NULL);
	for (uint32_t i = 0; i < 20 * capacity; i++) {
		struct flow_pkt p = pkt_udp(HOST_A + i, 1000, HOST_B, 53);
		struct flow *f;

		assert_int_equal(flows_pass(&s, i / 32 % 2, &p, 1000, &f), DROP_NONE);
		if (i % 32 == 31)
			rte_rcu_qsbr_quiescent(s.qsbr, i / 32 % 2);
	}
	assert_in_range(flows_count(&s).evicted, 18 * capacity, 20 * capacity);
	flows_fini(&s);
}

// Begins n unanswered flows from first on.
static void begin(struct flows *s, uint32_t holder, uint32_t first, uint32_t n)
{
	s->holder = holder;
	for (uint32_t i = first; i < first + n; i++) {
		struct flow_pkt p = pkt_udp(HOST_A + i, 1000, HOST_B, 53);
		struct flow *f;

		assert_int_equal(flows_pass(s, 0, &p, 1000, &f), DROP_NONE);
		if (i % 32 == 31)
			rte_rcu_qsbr_quiescent(s->qsbr, 0);
	}
}

// In a flood that fills the table within a millisecond, the flows that began last stay.
static void test_full_keeps_the_newest(void **state)
{
	const uint32_t capacity = 4096, n = 4 * capacity, newest = capacity / 4;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	begin(&s, s.holder, 0, n);
	assert_in_range(count_left(&s, n - newest, newest), newest - newest / 20, newest);
	flows_fini(&s);
}

// The flows of the largest holder go, also if those of one that is nearly as large are older: but
// for a few, by the buckets, so that several tables count together.
static void test_full_takes_from_the_largest(void **state)
{
	const uint32_t capacity = 4096, n = capacity / 2, tables = 8;
	uint32_t left = 0;
	struct flows s;

	(void)state;
	for (uint32_t i = 0; i < tables; i++) {
		flows_init(&s, capacity, 1, NULL);
		begin(&s, 1, 0, n);
		begin(&s, 2, n, n + n / 10);
		left += count_left(&s, 0, n);
		flows_fini(&s);
	}
	assert_in_range(left, tables * (n - n / 64), tables * n);
}

// Only one holder, all of whose flows are active: no flow is added or evicted, and there is room
// for other holders.
static void test_full_of_active(void **state)
{
	const uint32_t capacity = 4096;
	uint32_t n, refused = 0;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	n = fill(&s, 0, 2 * capacity, 0);
	assert_in_range(n, capacity, capacity + 128);
	for (uint32_t i = 0; i < 1000; i++)
		refused += fill(&s, n + i, 1, FLOW_ACTIVE_MS - 1) == 0;
	// A worker may have kept a few entries; then these flows evict each other.
	assert_true(refused > 900);
	assert_int_equal(flows_count(&s).refused[DROP_FLOW_TABLE_FULL], 1 + refused);
	assert_int_equal(count_left(&s, 0, n), n);
	s.holder = 1;
	assert_int_equal(fill(&s, 20000, 64, FLOW_ACTIVE_MS - 1), 64);
	assert_int_equal(count_left(&s, 0, n), n);
	flows_fini(&s);
}

// The connections of a vanished peer are evicted for those of others, which are all kept.
static void test_vanished_peer(void **state)
{
	const uint32_t capacity = 2080;
	const uint32_t later = FLOW_ACTIVE_MS + 1000;
	uint32_t n;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 2, NULL);
	s.holder = 0x12345678;
	n = fill(&s, 0, 2 * capacity, 0);
	assert_true(n >= capacity);
	s.holder = 3;
	assert_int_equal(fill(&s, 10000, capacity / 2, later), capacity / 2);
	assert_int_equal(count_left(&s, 10000, capacity / 2), capacity / 2);
	assert_in_range(count_left(&s, 0, n), capacity / 4, capacity * 3 / 4);
	// When it returns, its flows replace its own.
	s.holder = 0x12345678;
	assert_int_equal(fill(&s, 20000, 200, later), 200);
	assert_int_equal(count_left(&s, 10000, capacity / 2), capacity / 2);
	flows_fini(&s);
}

// A peer fills the table, and keeps all of its connections active: another one gets room as well.
static void test_greedy_peer(void **state)
{
	const uint32_t capacity = 2080, others = capacity / 4;
	uint32_t n, now = 0, made = 0;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	n = fill(&s, 0, 2 * capacity, now);
	for (uint32_t round = 0; round < 10; round++) {
		now += FLOW_ACTIVE_MS / 2;
		s.holder = 0;
		for (uint32_t i = 0; i < n; i++)
			if (flows_has(&s, i))
				flows_establish(&s, i, now);
		now += FLOW_ACTIVE_MS / 2 - 1;
		s.holder = 3;
		for (uint32_t i = 10000; i < 10000 + made; i++)
			flows_establish(&s, i, now);
		made += fill(&s, 10000 + made, others / 10, now);
	}
	assert_int_equal(made, others);
	assert_int_equal(count_left(&s, 10000, others), others);
	assert_in_range(count_left(&s, 0, n), capacity / 2, capacity - others / 2);
	flows_fini(&s);
}

// A flow with packets stays, whichever flows are added, of any holder.
static void test_active_stays(void **state)
{
	const uint32_t capacity = 1024, active = 100;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	fill(&s, 0, 2 * capacity, 0);
	for (uint32_t now = 1000; now < 60000; now += 1000) {
		for (uint32_t i = 0; i < active; i++)
			flows_establish(&s, i, now);
		s.holder = 1 + now / 1000 % 5;
		fill(&s, 10000 + now, 50, now);
		assert_int_equal(count_left(&s, 0, active), active);
	}
	assert_true(flows_count(&s).evicted > 1000);
	flows_fini(&s);
}

// Each of many holders opens more flows than there is room for: all get about the same share.
static void test_many_holders(void **state)
{
	enum { HOLDERS = 20 };
	const uint32_t capacity = 4096, fair = capacity / HOLDERS;
	uint32_t made[HOLDERS] = {0};
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	fill(&s, 0, 2 * capacity, 0); // of holder 0
	for (uint32_t round = 0; round < 3 * fair; round++)
		for (uint32_t h = 1; h < HOLDERS; h++) {
			s.holder = h * 0x9e3779b1;
			made[h] += fill(&s, h * 10000 + round, 1, 20000 + round * 100);
		}
	assert_true(count_left(&s, 0, capacity) < 2 * fair);
	for (uint32_t h = 1; h < HOLDERS; h++) {
		assert_int_equal(made[h], 3 * fair);
		assert_in_range(count_left(&s, h * 10000, 3 * fair), fair / 2, 3 * fair / 2);
	}
	flows_fini(&s);
}

// Unanswered flows evict only a part of another's idle connections.
static void test_flood_of_another(void **state)
{
	const uint32_t capacity = 4096;
	uint32_t n;
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	n = fill(&s, 0, 2 * capacity, 0);
	s.holder = 1;
	for (uint32_t i = 0; i < 10 * capacity; i++) {
		struct flow_pkt p = pkt_tcp(0x20000000 + i * 7919, 1, HOST_B, 80, SYN, i, 0);

		flows_pass(&s, 0, &p, 20000 + i / 64, &f);
		flows_tick(&s, 20000 + i / 64, 1);
	}
	assert_true(count_left(&s, 0, n) > n - capacity / 8);
	flows_fini(&s);
}

// The connections of a peer that has vanished hours ago are evicted for flows without an answer,
// too.
static void test_unanswered_after_hours(void **state)
{
	const uint32_t capacity = 4096, others = capacity / 4;
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	fill(&s, 0, 2 * capacity, 0);
	s.holder = 1;
	for (uint32_t i = 0; i < others; i++) {
		struct flow_pkt p = pkt_udp(HOST_A + 100000 + i, 1000, HOST_B, 53);

		assert_int_equal(flows_pass(&s, 0, &p, FLOW_SPARED_MS, &f), DROP_NONE);
		rte_rcu_qsbr_quiescent(s.qsbr, 0);
	}
	assert_int_equal(count_left(&s, 100000, others), others);
	flows_fini(&s);
}

// Ten times as many SYNs as the table holds flows: each evicts one for the next.
static void test_syn_flood(void **state)
{
	const uint32_t capacity = 8192;
	struct flow_counters c;
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 2, NULL);
	for (uint32_t i = 0; i < capacity / 2; i++)
		flows_establish(&s, i, 0);
	for (uint32_t i = 0; i < 10 * capacity; i++) {
		struct flow_pkt p = pkt_tcp(0x20000000 + i * 7919, 1, HOST_B, 80, SYN, i, 0);

		assert_int_equal(flows_pass(&s, i % 2, &p, i / 64, &f), DROP_NONE);
		if (i % 32 == 0)
			flows_tick(&s, i / 64, 32);
	}
	c = flows_count(&s);
	assert_int_equal(c.refused[DROP_FLOW_TABLE_FULL], 0);
	assert_int_equal(c.created, capacity / 2 + 10 * capacity);
	assert_true(c.evicted >= 10 * capacity - capacity / 2 - 2 * 2048);
	assert_in_range(flow_count(s.t), capacity - 200, capacity + 2200);
	for (uint32_t i = 0; i < capacity / 2; i++)
		assert_true(flows_has(&s, i));
	flows_fini(&s);
}

// The smallest tables, too, have buckets for as many flows as there are entries.
static void test_small(void **state)
{
	static const uint32_t capacity[] = {1, 33, 100};
	struct flow *f;

	(void)state;
	for (size_t k = 0; k < COUNT_OF(capacity); k++)
		for (unsigned int workers = 1; workers <= 3; workers += 2) {
			struct flows s;

			flows_init(&s, capacity[k], workers, NULL);
			for (uint32_t i = 0; i < 1000; i++) {
				struct flow_pkt p =
					pkt_tcp(0x20000000 + i, 1, HOST_B, 80, SYN, i, 0);

				assert_int_equal(flows_pass(&s, i % workers, &p, i, &f), DROP_NONE);
				flows_tick(&s, i, 1);
			}
			flows_fini(&s);
		}
}

// A flow has two buckets to choose from, whatever its hash is.
static void test_two_buckets(void **state)
{
	struct flow_index *x = flow_index_new(1000, &(struct hash_key){0});
	uint64_t seed = 1;

	(void)state;
	for (x->n = 2; x->n <= 1000; x->n++)
		for (unsigned int i = 0; i < 1000; i++) {
			uint32_t hash = (uint32_t)random_u64(&seed);
			ptrdiff_t first = flow_first_bucket(x, hash) - x->bucket;
			ptrdiff_t second = flow_second_bucket(x, hash) - x->bucket;

			assert_in_range(first, 0, x->n - 1);
			assert_in_range(second, 0, x->n - 1);
			assert_int_not_equal(first, second);
		}
	flow_index_free(x);
}

static void test_closing_makes_room(void **state)
{
	const uint32_t capacity = 2048;
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 1, NULL);
	for (uint32_t i = 0; i < capacity; i++) {
		struct flow_pkt p[] = {pkt_tcp(HOST_A + i, 1, HOST_B, 2, SYN, 0, 0),
			pkt_tcp(HOST_B, 2, HOST_A + i, 1, SYN | ACK, 0, 1),
			pkt_tcp(HOST_A + i, 1, HOST_B, 2, ACK, 1, 1),
			pkt_tcp(HOST_A + i, 1, HOST_B, 2, ACK | FIN, 1, 1)};

		for (unsigned int j = 0; j < COUNT_OF(p); j++)
			assert_int_equal(flows_pass(&s, 0, &p[j], 0, &f), DROP_NONE);
	}
	for (uint32_t i = 0; i < capacity / 2; i++) {
		flows_establish(&s, i, 0);
		flows_tick(&s, 0, 1);
	}
	assert_int_equal(flows_count(&s).refused[DROP_FLOW_TABLE_FULL], 0);
	for (uint32_t i = 0; i < capacity / 2; i++)
		assert_true(flows_has(&s, i));
	flows_fini(&s);
}

static void test_source_limit(void **state)
{
	struct flow_config config;
	struct flow *f;
	struct flows s;
	struct flow_pkt p;

	(void)state;
	flow_config_init(&config);
	config.source_limit = 10;
	flows_init(&s, 10000, 1, &config);
	for (uint16_t i = 0; i < 20; i++) {
		p = pkt_udp(HOST_A, i, HOST_B, 53);
		assert_int_equal(
			flows_pass(&s, 0, &p, 0, &f), i < 10 ? DROP_NONE : DROP_FLOW_SOURCE_LIMIT);
	}
	assert_int_equal(flows_count(&s).refused[DROP_FLOW_SOURCE_LIMIT], 10);
	p = pkt_udp(HOST_A + 1, 1, HOST_B, 53); // another source
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_NONE);
	p = pkt_udp(HOST_A, 3, HOST_B, 53); // an existing flow
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_NONE);
	for (uint16_t i = 0; i < 4; i++) { // answered: they no longer count
		p = pkt_udp(HOST_B, 53, HOST_A, i);
		assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_NONE);
	}
	for (uint16_t i = 0; i < 6; i++) {
		p = pkt_udp(HOST_A, (uint16_t)(100 + i), HOST_B, 53);
		assert_int_equal(
			flows_pass(&s, 0, &p, 0, &f), i < 4 ? DROP_NONE : DROP_FLOW_SOURCE_LIMIT);
	}
	flows_round(&s, 31 * 1000); // timed out: they no longer count either
	assert_int_equal(flow_count(s.t), 0);
	for (uint16_t i = 0; i < 11; i++) {
		p = pkt_udp(HOST_A, i, HOST_B, 53);
		assert_int_equal(flows_pass(&s, 0, &p, 31 * 1000, &f),
			i < 10 ? DROP_NONE : DROP_FLOW_SOURCE_LIMIT);
	}
	flows_fini(&s);
}

// Flows opened without a limit do not count, nor does their end.
static void test_source_limit_set_later(void **state)
{
	struct flow_config config;
	struct flow *f;
	struct flows s;
	struct flow_pkt p;

	(void)state;
	flow_config_init(&config);
	flows_init(&s, 10000, 1, &config);
	for (uint16_t i = 0; i < 20; i++)
		flows_pass_to(&s, pkt_udp(HOST_A, i, HOST_B, 53), 0, FLOW_UDP_NEW, FLOW_CT_NEW);
	config.source_limit = 10;
	flow_table_configure(s.t, &config);
	for (uint16_t i = 100; i < 105; i++)
		flows_pass_to(
			&s, pkt_udp(HOST_A, i, HOST_B, 53), 20 * 1000, FLOW_UDP_NEW, FLOW_CT_NEW);
	flows_round(&s, 31 * 1000); // the first 20 have timed out
	assert_int_equal(flow_count(s.t), 5);
	for (uint16_t i = 200; i < 206; i++) {
		p = pkt_udp(HOST_A, i, HOST_B, 53);
		assert_int_equal(flows_pass(&s, 0, &p, 31 * 1000, &f),
			i < 205 ? DROP_NONE : DROP_FLOW_SOURCE_LIMIT);
	}
	flows_fini(&s);
}

// Half-open TCP counts until its handshake is complete, dropped TCP until it is removed, and a
// reopened connection counts again.
static void test_source_limit_tcp(void **state)
{
	struct flow_config config;
	struct flow *f;
	struct flows s;
	struct flow_pkt p;

	(void)state;
	flow_config_init(&config);
	config.source_limit = 1;
	flows_init(&s, 10000, 1, &config);
	flows_pass_to(
		&s, pkt_tcp(HOST_A, 1, HOST_B, 2, SYN, 0, 0), 0, FLOW_TCP_SYN_SENT, FLOW_CT_NEW);
	p = pkt_tcp(HOST_A, 2, HOST_B, 2, SYN, 0, 0);
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_FLOW_SOURCE_LIMIT);
	flows_pass_to(&s, pkt_tcp(HOST_B, 2, HOST_A, 1, SYN | ACK, 0, 1), 0, FLOW_TCP_SYN_RECV,
		FLOW_CT_ESTABLISHED);
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_FLOW_SOURCE_LIMIT);
	flows_pass_to(&s, pkt_tcp(HOST_A, 1, HOST_B, 2, ACK, 1, 1), 0, FLOW_TCP_ESTABLISHED,
		FLOW_CT_ESTABLISHED);
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_NONE);
	flows_pass_to(&s, pkt_tcp(HOST_B, 2, HOST_A, 2, RST | ACK, 0, 1), 0, FLOW_TCP_CLOSE,
		FLOW_CT_ESTABLISHED);
	p = pkt_tcp(HOST_A, 3, HOST_B, 2, SYN, 0, 0);
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_FLOW_SOURCE_LIMIT);
	// The same flow opened by the other end: now it counts for that one.
	flows_pass_to(
		&s, pkt_tcp(HOST_B, 2, HOST_A, 2, SYN, 0, 0), 0, FLOW_TCP_SYN_SENT, FLOW_CT_NEW);
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_NONE);
	p = pkt_tcp(HOST_B, 5, HOST_A, 2, SYN, 0, 0);
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_FLOW_SOURCE_LIMIT);
	flows_round(&s, 200 * 1000);
	assert_int_equal(flow_count(s.t), 1); // the established one
	flows_pass_to(&s, p, 200 * 1000, FLOW_TCP_SYN_SENT, FLOW_CT_NEW);
	flows_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_between_ticks),
		cmocka_unit_test(test_full_keeps_the_newest),
		cmocka_unit_test(test_full_takes_from_the_largest),
		cmocka_unit_test(test_full_of_active),
		cmocka_unit_test(test_vanished_peer),
		cmocka_unit_test(test_greedy_peer),
		cmocka_unit_test(test_active_stays),
		cmocka_unit_test(test_many_holders),
		cmocka_unit_test(test_flood_of_another),
		cmocka_unit_test(test_unanswered_after_hours),
		cmocka_unit_test(test_syn_flood),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_two_buckets),
		cmocka_unit_test(test_closing_makes_room),
		cmocka_unit_test(test_source_limit),
		cmocka_unit_test(test_source_limit_set_later),
		cmocka_unit_test(test_source_limit_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
