// SPDX-License-Identifier: BSD-3-Clause
// Flows of some regions of addresses are decided again; others keep their decisions.
#include "addrs.h"
#include "flows.h"

static bool has(const struct flow_regions *set, const char *addr)
{
	const struct ip_addr a = addr_of(addr);
	const uint32_t region = flow_region_of(&a);

	return (set->bits[region / 64] >> region % 64 & 1) != 0;
}

static void test_regions_of_prefix(void **state)
{
	static const struct {
		const char *prefix, *in, *also_in, *out;
		unsigned int regions;
	} rows[] = {
		{"10.2.3.4/32", "10.2.3.4", "10.2.9.9", "10.3.3.4", 1},
		{"10.2.0.0/16", "10.2.0.1", "10.2.255.1", "10.1.0.1", 1},
		{"10.2.0.0/15", "10.2.0.1", "10.3.255.1", "10.4.0.1", 2},
		{"10.64.0.0/10", "10.64.0.1", "10.127.0.1", "10.128.0.1", 64},
		{"10.0.0.0/8", "10.0.0.1", "10.255.0.1", "11.0.0.1", 256},
		{"0.0.0.0/0", "0.0.0.1", "255.255.0.1", "::1", 1 << 16},
		{"2001:db8:7:8::/64", "2001:db8:7:8::1", "2001:db8:7::1", "2001:db8:8::1", 1},
		{"2001:db8:7::/48", "2001:db8:7::1", "2001:db8:7:ffff::", "2001:db8:6::1", 1},
		{"2001:db8:6::/47", "2001:db8:6::1", "2001:db8:7::1", "2001:db8:8::1", 2},
		{"2001:db8::/32", "2001:db8::1", "2001:db8:ffff::1", "10.0.0.1", 1 << 16},
		{"2001:d00::/24", "2001:db8::1", "2001:dff:ffff::1", "10.0.0.1", 1 << 16},
		{"::/0", "::1", "ffff::1", "10.0.0.1", 1 << 16},
	};
	static struct flow_regions set;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		const struct ip_prefix prefix = net_of(rows[i].prefix);
		unsigned int n = 0;

		print_message("%s\n", rows[i].prefix);
		set = (struct flow_regions){.any = false};
		flow_regions_add(&set, &prefix);
		for (unsigned int k = 0; k < COUNT_OF(set.bits); k++)
			n += (unsigned int)__builtin_popcountll(set.bits[k]);
		assert_true(set.any);
		assert_int_equal(n, rows[i].regions);
		assert_true(has(&set, rows[i].in));
		assert_true(has(&set, rows[i].also_in));
		assert_false(has(&set, rows[i].out));
	}
}

#define FLOWS 4000 // between addresses of two regions each

// The flow i: even ones to 10.9.0.0/16, odd ones to 10.8.0.0/16, all from 10.0.0.0/16.
static struct flow_pkt pkt_of(unsigned int i)
{
	return pkt_udp(HOST_A, (uint16_t)(1 + i), i % 2 == 0 ? 0x0a090001 : 0x0a080001, 2);
}

static struct flow *flow_at(const struct flows *s, unsigned int i)
{
	struct flow_pkt p = pkt_of(i);

	return flows_find_one(s->t, &p);
}

static void decide(const struct flows *s)
{
	const struct flow_decision d = {.egress = flow_egress_clear((void *)32), .ingress = 1};

	for (unsigned int i = 0; i < FLOWS; i++)
		for (unsigned int dir = 0; dir < 2; dir++)
			flow_decision_set(flow_at(s, i), dir, 1, &d);
}

static void start(struct flows *s)
{
	struct flow *f;

	flows_init(s, FLOWS, 1, NULL);
	for (unsigned int i = 0; i < FLOWS; i++) {
		const struct flow_pkt p = pkt_of(i);

		assert_int_equal(flows_pass(s, 0, &p, 1, &f), DROP_NONE);
	}
	decide(s);
}

static bool is_decided(const struct flows *s, unsigned int i)
{
	struct flow_decision d;
	bool one = flow_decision_get(flow_at(s, i), 0, 1, &d);

	assert_int_equal(flow_decision_get(flow_at(s, i), 1, 1, &d), one);
	return one;
}

// Flows of the region that have no decision; of others, all have one.
static unsigned int undecided(const struct flows *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < FLOWS; i += 2) {
		n += !is_decided(s, i);
		assert_true(is_decided(s, i + 1));
	}
	return n;
}

static void redecide(const struct flows *s, const char *prefix)
{
	const struct ip_prefix p = net_of(prefix);
	struct flow_regions set = {.any = false};

	flow_redecide(s->t, &set); // nothing
	flow_regions_add(&set, &p);
	flow_redecide(s->t, &set);
}

static void test_redecide(void **state)
{
	struct flows s;

	(void)state;
	start(&s);
	flows_round(&s, 1);
	assert_int_equal(undecided(&s), 0);
	redecide(&s, "10.9.7.0/24");
	flows_round(&s, 1);
	assert_int_equal(undecided(&s), FLOWS / 2);
	flows_round(&s, 1); // that may visit them once more
	flows_round(&s, 1);
	decide(&s);
	for (unsigned int i = 0; i < 3; i++)
		flows_round(&s, 1);
	assert_int_equal(undecided(&s), 0);
	flows_fini(&s);
}

// A call in the middle of a round is for the flows that it has visited before as well.
static void test_within_one_round(void **state)
{
	const unsigned int slice = 100, round = (FLOWS + 1024 + 1024) / slice + 1;
	struct flows s;

	(void)state;
	start(&s);
	for (unsigned int at = 0; at < 2 * round; at += 7) {
		for (unsigned int i = 0; i < at; i++)
			flows_tick(&s, 1, slice);
		decide(&s);
		redecide(&s, "10.9.0.0/16");
		for (unsigned int i = 0; i < round; i++)
			flows_tick(&s, 1, slice);
		assert_int_equal(undecided(&s), FLOWS / 2);
	}
	flows_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_regions_of_prefix),
		cmocka_unit_test(test_redecide),
		cmocka_unit_test(test_within_one_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
