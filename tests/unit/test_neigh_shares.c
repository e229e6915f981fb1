// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table is shared: by ports, and requests on a port by the senders of packets.
#include "eal.h"
#include "neigh.h"
#include "test.h"

#define TABLE_MAX 16

static unsigned int requests;
static uint16_t requested_on;

static void solicit(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	(void)arg, (void)addr, (void)to;
	requests++;
	requested_on = port;
}

static struct neigh_table *table_new(uint32_t max)
{
	struct neigh_table *t = neigh_table_new(&(struct neigh_params){
		.max = max, .n_ports = 2, .reachable_s = 30, .qsbr = eal_qsbr, .solicit = solicit});

	assert_non_null(t);
	requests = 0;
	return t;
}

static struct ip_addr addr(unsigned int i)
{
	return ip_addr_from_v4(rte_cpu_to_be_32(0x0a000000 + i));
}

// Endless look-ups of addresses on one port: the other port keeps its share of the table, and its
// requests.
static void test_room_of_ports(void **state)
{
	const struct rte_ether_addr at = {{2, 0, 0, 0, 0, 1}};
	struct neigh_table *t = table_new(TABLE_MAX);
	unsigned int before;

	(void)state;
	for (unsigned int i = 0; i < 5000; i++) {
		struct ip_addr a = addr(i);

		neigh_resolve(t, 0, &a, 0, 10);
		a = addr(20000 + i);
		neigh_learn(t, 0, &a, &at, true, 10);
	}
	assert_int_equal(requests,
		NEIGH_REQUESTS_MAX * NEIGH_HOLDER_SHARE /
			(NEIGH_HOLDER_SHARE + 1)); // none to learn
	for (unsigned int i = 0; i < TABLE_MAX / 2; i++) {
		struct ip_addr a = addr(9000 + i);

		before = requests;
		neigh_resolve(t, 1, &a, 0, 20);
		assert_int_equal(requests, before + 1);
		assert_int_equal(requested_on, 1);
	}
	for (unsigned int i = 0; i < 5000; i++) {
		struct ip_addr a = addr(i);

		neigh_resolve(t, 0, &a, 0, 2000);
	}
	for (unsigned int i = 0; i < TABLE_MAX / 2; i++) {
		struct ip_addr a = addr(9000 + i);

		assert_true(neigh_has(t, 1, &a));
	}
	neigh_table_free(t);
}

// One peer that probes unused addresses gets most requests, and delays nobody else's.
static void test_share_of_holders(void **state)
{
	const uint32_t prober = 0x12345678, other = 1;
	struct neigh_table *t = table_new(1 << 15);
	unsigned int sent = 0, before;

	(void)state;
	for (unsigned int now = 1; now <= 5000; now++) {
		for (unsigned int i = 0; i < 6; i++) {
			struct ip_addr a = addr(now * 6 + i);

			neigh_resolve(t, 0, &a, prober, now);
		}
		if (now % 100 == 0) {
			struct ip_addr a = addr(1000000 + now);

			before = requests;
			neigh_resolve(t, 0, &a, other, now);
			assert_int_equal(requests, before + 1);
			neigh_tick(t, now);
		}
		if (now == 2000)
			sent = requests;
	}
	sent = requests - sent;
	assert_in_range(sent, 9 * NEIGH_REQUESTS_MAX * 3 / 10, NEIGH_REQUESTS_MAX * 3);
	neigh_table_free(t);
}

// An address that a prober was the first to look up is requested again as soon as another holder
// needs it.
static void test_wanted_by_others(void **state)
{
	const uint32_t prober = 0x12345678, other = 1;
	const struct ip_addr wanted = addr(1);
	struct neigh_table *t = table_new(1 << 15);
	unsigned int before;

	(void)state;
	neigh_resolve(t, 0, &wanted, prober, 1); // and no answer comes
	for (unsigned int now = 1; now <= 1001; now++)
		for (unsigned int i = 0; i < 6; i++) {
			struct ip_addr a = addr(now * 6 + i);

			neigh_resolve(t, 0, &a, prober, now);
		}
	before = requests;
	neigh_resolve(t, 0, &wanted, prober, 1001);
	assert_int_equal(requests, before);
	neigh_resolve(t, 0, &wanted, other, 1001);
	assert_int_equal(requests, before + 1);
	neigh_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_of_ports),
		cmocka_unit_test(test_share_of_holders),
		cmocka_unit_test(test_wanted_by_others),
	};

	return cmocka_run_group_tests(tests, eal_qsbr_start, eal_qsbr_stop);
}
