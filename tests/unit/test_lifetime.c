// SPDX-License-Identifier: BSD-3-Clause
// Lifetimes of SAs: configured ones, limits of algorithms, and their effect.
#include "sas.h"
#include "test.h"

static struct sa_params params(const char *cipher, bool esn)
{
	struct sa_params p = sas_params(cipher_alg_find(cipher), auth_alg_find("none"));

	p.opt.esn = esn;
	return p;
}

static void check_limits(
	const struct lifetime *l, enum lifetime_unit u, uint64_t soft, uint64_t hard)
{
	if (l->soft[u] != soft || l->hard[u] != hard)
		fail_msg("%s: soft %lu, hard %lu", lifetime_unit_names[u], l->soft[u], l->hard[u]);
}

static void test_defaults(void **state)
{
	const uint64_t none = LIFETIME_UNLIMITED, aes = UINT64_C(1) << 52;
	struct sa_params p = params("aes-128-gcm", false);
	struct sa_out *out = sa_out_new(&p);
	struct sa_in *in;

	(void)state;
	assert_non_null(out);
	check_limits(&out->sa.lifetime, LIFETIME_BYTES, aes / 8 * 7, aes);
	check_limits(&out->sa.lifetime, LIFETIME_PACKETS, 0xe0000000, 0xffffffff);
	check_limits(&out->sa.lifetime, LIFETIME_SECONDS, none, none);
	sa_free(&out->sa);
	p = params("chacha20-poly1305", true);
	p.live.hard_seconds = 800;
	p.live.soft_bytes = 1000;
	in = sa_in_new(&p);
	assert_non_null(in);
	check_limits(&in->sa.lifetime, LIFETIME_BYTES, 1000, none);
	// 2^64 - 2^16, and 7/8 of it
	check_limits(&in->sa.lifetime, LIFETIME_PACKETS, 0xdfffffffffff2000, 0xffffffffffff0000);
	check_limits(&in->sa.lifetime, LIFETIME_SECONDS, 700, 800);
	sa_free(&in->sa);
}

static void test_requested(void **state)
{
	const struct sa_live live = {
		.soft_bytes = 10, .soft_seconds = 30, .hard_packets = 8, .hard_seconds = 20};
	struct lifetime l;

	(void)state;
	lifetime_init(&l, &live, cipher_alg_find("aes128"), SA_SEQ_MAX);
	check_limits(&l, LIFETIME_BYTES, 10, UINT64_C(1) << 52);
	check_limits(&l, LIFETIME_PACKETS, 7, 8);
	check_limits(&l, LIFETIME_SECONDS, 20, 20); // soft never later than hard
}

static void check_event(
	struct lifetime *l, const uint64_t used[LIFETIME_UNITS], enum lifetime_event right)
{
	enum lifetime_unit unit;

	assert_int_equal(lifetime_check(l, used, &unit), right);
	if (right != LIFETIME_GOES_ON)
		assert_true(used[unit] >= (right == LIFETIME_SOFT ? l->soft : l->hard)[unit]);
	// Only once.
	assert_int_equal(lifetime_check(l, used, &unit), LIFETIME_GOES_ON);
}

// Each unit alone: below and at the soft limit, below and at the hard limit, far above.
static void test_events(void **state)
{
	const uint64_t soft[LIFETIME_UNITS] = {1000, 100, 10};
	const uint64_t hard[LIFETIME_UNITS] = {2000, 200, 20};
	const struct sa_live live = {.soft_bytes = 1000,
		.soft_packets = 100,
		.soft_seconds = 10,
		.hard_bytes = 2000,
		.hard_packets = 200,
		.hard_seconds = 20};

	(void)state;
	for (enum lifetime_unit u = 0; u < LIFETIME_UNITS; u++) {
		uint64_t used[LIFETIME_UNITS] = {1, 1, 1};
		struct lifetime l;

		lifetime_init(&l, &live, cipher_alg_find("null"), SA_SEQ_MAX);
		check_event(&l, used, LIFETIME_GOES_ON);
		used[u] = soft[u] - 1;
		check_event(&l, used, LIFETIME_GOES_ON);
		assert_int_equal(lifetime_left(&l, u, used[u]), hard[u] - soft[u] + 1);
		used[u] = soft[u];
		check_event(&l, used, LIFETIME_SOFT);
		used[u] = hard[u] - 1;
		check_event(&l, used, LIFETIME_GOES_ON);
		used[u] = hard[u];
		check_event(&l, used, LIFETIME_HARD);
		used[u] = UINT64_MAX;
		check_event(&l, used, LIFETIME_GOES_ON);
		assert_int_equal(lifetime_left(&l, u, used[u]), 0);
	}
}

// An inbound SA continues after its last sequence number, until its time or its bytes are used up.
static void test_last_number(void **state)
{
	for (enum lifetime_unit u = 0; u < LIFETIME_UNITS; u++) {
		struct sa_params p = params("aes-128-gcm", false);
		uint64_t used[LIFETIME_UNITS] = {0};
		enum lifetime_unit unit;
		struct sa_in *in;

		if (u == LIFETIME_PACKETS)
			continue;
		if (u == LIFETIME_BYTES)
			p.live.hard_bytes = 1000;
		else
			p.live.hard_seconds = 1000;
		in = sa_in_new(&p);
		in->sa.per_packet.replay.ring->top = UINT32_MAX;
		sa_used(&in->sa, 1000, used);
		assert_int_equal(lifetime_check(&in->sa.lifetime, used, &unit), LIFETIME_HARD);
		assert_int_equal(unit, LIFETIME_PACKETS);
		sa_stop(&in->sa, unit);
		assert_int_equal(in->sa.per_packet.stop, DROP_NONE);
		used[u] = 999;
		check_event(&in->sa.lifetime, used, LIFETIME_GOES_ON);
		used[u] = 1000;
		assert_int_equal(lifetime_check(&in->sa.lifetime, used, &unit), LIFETIME_HARD);
		assert_int_equal(unit, u);
		sa_stop(&in->sa, unit);
		assert_int_equal(in->sa.per_packet.stop, DROP_LIFETIME);
		sa_free(&in->sa);
	}
	(void)state;
}

// Both between two checks: only the hard one is reported.
static void test_soft_missed(void **state)
{
	const struct sa_live live = {.hard_bytes = 2000};
	const uint64_t used[LIFETIME_UNITS] = {3000};
	struct lifetime l;

	(void)state;
	lifetime_init(&l, &live, cipher_alg_find("null"), SA_SEQ_MAX);
	check_event(&l, used, LIFETIME_HARD);
}

// A limit that is not set is never reached.
static void test_unlimited(void **state)
{
	const struct sa_live live = {0};
	const uint64_t used[LIFETIME_UNITS] = {UINT64_MAX, 0, UINT64_MAX};
	struct lifetime l;

	(void)state;
	lifetime_init(&l, &live, cipher_alg_find("null"), SA_SEQ_MAX);
	check_event(&l, used, LIFETIME_GOES_ON);
	assert_true(lifetime_left(&l, LIFETIME_BYTES, UINT64_MAX) == LIFETIME_UNLIMITED);
}

static void test_seconds(void **state)
{
	struct lifetime l = {0};

	(void)state;
	assert_int_equal(lifetime_age(&l, 5000), 0);
	assert_int_equal(lifetime_age(&l, 5999), 0);
	assert_int_equal(lifetime_age(&l, 6000), 1);
	assert_int_equal(lifetime_age(&l, 3605000), 3600);
}

// The counters of all workers are added up.
static void test_used(void **state)
{
	struct sa_params p = params("aes-128-gcm", false);
	struct sa_out *out = sa_out_new(&p);
	struct sa_in *in = sa_in_new(&p);
	uint64_t used[LIFETIME_UNITS];

	(void)state;
	assert_non_null(out);
	assert_non_null(in);
	for (unsigned int w = 0; w < 3; w++) {
		sas_counted(&out->sa, w)->packets = sas_counted(&in->sa, w)->packets = 10 + w;
		sas_counted(&out->sa, w)->bytes = sas_counted(&in->sa, w)->bytes = 100 * w;
	}
	out->seq = 40; // some packets were lost in transit
	sa_used(&out->sa, 1000, used);
	assert_int_equal(used[LIFETIME_BYTES], 300);
	assert_int_equal(used[LIFETIME_PACKETS], 40);
	assert_int_equal(used[LIFETIME_SECONDS], 0);
	out->seq = UINT64_C(1) << 32;
	sa_used(&out->sa, 9000, used);
	assert_int_equal(used[LIFETIME_PACKETS], UINT32_MAX);
	assert_int_equal(used[LIFETIME_SECONDS], 8);
	sa_used(&in->sa, 1000, used);
	assert_int_equal(used[LIFETIME_BYTES], 300);
	assert_int_equal(used[LIFETIME_PACKETS], 33);
	in->sa.per_packet.replay.ring->top = 50;
	sa_used(&in->sa, 1000, used);
	assert_int_equal(used[LIFETIME_PACKETS], 50);
	sa_free(&out->sa);
	sa_free(&in->sa);
}

// Numbers end with the lifetime, and the reason tells the two apart.
static void test_packets_are_numbers(void **state)
{
	struct sa_params p = params("aes-128-gcm", true);
	struct sa_out *sa = sa_out_new(&p);

	(void)state;
	assert_non_null(sa);
	assert_int_equal(sa_end_reason(&sa->sa, LIFETIME_PACKETS), DROP_SEQUENCE_END);
	assert_int_equal(sa_end_reason(&sa->sa, LIFETIME_BYTES), DROP_LIFETIME);
	sa_free(&sa->sa);
	p.live.hard_packets = 1000;
	sa = sa_out_new(&p);
	assert_non_null(sa);
	assert_int_equal(sa->sa.per_packet.seq_limit, 1000);
	assert_int_equal(sa_end_reason(&sa->sa, LIFETIME_PACKETS), DROP_LIFETIME);
	assert_int_equal(sa->sa.per_packet.stop, DROP_NONE);
	sa_stop(&sa->sa, LIFETIME_SECONDS);
	assert_int_equal(sa->sa.per_packet.seq_limit, 0);
	assert_int_equal(sa->sa.per_packet.stop, DROP_LIFETIME);
	sa_free(&sa->sa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_requested),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_last_number),
		cmocka_unit_test(test_soft_missed),
		cmocka_unit_test(test_unlimited),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_packets_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
