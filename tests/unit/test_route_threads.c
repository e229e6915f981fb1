// SPDX-License-Identifier: BSD-3-Clause
// Workers look routes up while the control thread adds, replaces and deletes others: a look-up
// finds the longest prefix that is there all the time, or a longer one that comes and goes; never
// one that was freed. Meant to be run under ThreadSanitizer as well.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_rcu_qsbr.h>

#include "addrs.h"
#include "eal.h"
#include "route_change.h"
#include "test.h"

#define READERS       2
#define LASTING       8 // networks, 10.N.0.0/16 and 2001:db8:N::/48
#define CHANGES       5000
#define GRACE         64 // changes for each grace period
#define LOOK_UPS      32 // of a reader for each
#define LASTING_IFACE 1000

struct shared {
	struct route_table *t;
	pthread_barrier_t start;
	atomic_bool stop;
};

struct reader {
	struct shared *shared;
	unsigned int id;
	uint64_t seed;
	unsigned long lasting, longer;
};

static struct ip_addr network(enum ip_family family, unsigned int n)
{
	if (family == IP_V4)
		return ip_addr_from_v4(rte_cpu_to_be_32(0x0a000000 | n << 16));
	return (struct ip_addr){.b = {0x20, 0x01, 0x0d, 0xb8, 0, (uint8_t)n}};
}

static unsigned int lasting_len(enum ip_family family)
{
	return family == IP_V4 ? IP_V4_BITS + 16 : 48;
}

// A station of one of the networks, one of few.
static struct ip_addr station(uint64_t *seed, enum ip_family family, unsigned int n)
{
	struct ip_addr a = network(family, n);

	a.b[family == IP_V4 ? 14 : 6] |= (uint8_t)(random_below(seed, 4) << 6);
	a.b[15] |= (uint8_t)random_below(seed, 4);
	return a;
}

static void check(
	struct reader *r, const struct ip_addr *dst, unsigned int n, const struct nexthop *nh)
{
	if (nh == NULL)
		fail_msg("missed");
	if (!ip_prefix_contains(&route_of(nh)->to, dst) ||
		route_of(nh)->to.len < lasting_len(ip_addr_is_v4(dst) ? IP_V4 : IP_V6))
		fail_msg("found a route that was freed, or is shorter");
	if (nh->iface == LASTING_IFACE + n)
		r->lasting++;
	else
		r->longer++;
}

// One by one, and all at once.
static void look_up(struct reader *r)
{
	const struct nexthop *found[LOOK_UPS];
	struct ip_addr dst[LOOK_UPS];
	unsigned int n[LOOK_UPS];

	for (unsigned int i = 0; i < LOOK_UPS; i++) {
		n[i] = random_below(&r->seed, LASTING);
		dst[i] = station(&r->seed, random_family(&r->seed), n[i]);
		check(r, &dst[i], n[i], route_find(r->shared->t, &dst[i]));
	}
	route_find_each(r->shared->t, dst, LOOK_UPS, found);
	for (unsigned int i = 0; i < LOOK_UPS; i++)
		check(r, &dst[i], n[i], found[i]);
}

static void *read_routes(void *arg)
{
	struct reader *r = arg;

	rte_rcu_qsbr_thread_register(eal_qsbr, r->id);
	rte_rcu_qsbr_thread_online(eal_qsbr, r->id);
	pthread_barrier_wait(&r->shared->start);
	do {
		look_up(r);
		rte_rcu_qsbr_quiescent(eal_qsbr, r->id);
	} while (!atomic_load(&r->shared->stop));
	rte_rcu_qsbr_thread_offline(eal_qsbr, r->id);
	return NULL;
}

static void grace(void)
{
	uint64_t token = rte_rcu_qsbr_start(eal_qsbr);

	while (rte_rcu_qsbr_check(eal_qsbr, token, false) == 0)
		sched_yield();
}

// Of any length but that of lasting routes, which it may cover.
static struct route changing(uint64_t *seed)
{
	enum ip_family family = random_family(seed);
	struct ip_addr a = station(seed, family, random_below(seed, LASTING));
	unsigned int first = family == IP_V4 ? IP_V4_BITS : 0;
	unsigned int len = first + random_below(seed, 129 - first);

	if (len == lasting_len(family))
		len++;
	return (struct route){.to = prefix_of(a, len)};
}

static void change_routes(struct route_table *t, uint64_t seed)
{
	struct route_removed removed;

	for (unsigned long i = 0; i < rounds(CHANGES); i++) {
		struct route r = changing(&seed);

		if (random_below(&seed, 2) == 0)
			assert_int_equal(route_put(t, &r), 0);
		else
			route_delete(t, &r.to, &r.from, ROUTE_OWN);
		if (i % GRACE == 0) {
			removed = route_table_removed(t);
			grace();
			route_table_release(t, removed);
		}
	}
}

static void add_lasting(struct route_table *t)
{
	for (unsigned int i = 0; i < 2 * LASTING; i++) {
		enum ip_family family = i < LASTING ? IP_V4 : IP_V6;
		const struct route r = {
			.to = prefix_of(network(family, i % LASTING), lasting_len(family)),
			.nexthop.iface = (uint16_t)(LASTING_IFACE + i % LASTING)};

		assert_int_equal(route_put(t, &r), 0);
	}
}

static void test_readers(void **state)
{
	struct shared shared = {.t = route_table_new()};
	struct reader reader[READERS];
	pthread_t thread[READERS];

	(void)state;
	assert_non_null(shared.t);
	add_lasting(shared.t);
	assert_int_equal(pthread_barrier_init(&shared.start, NULL, READERS + 1), 0);
	for (unsigned int i = 0; i < READERS; i++) {
		reader[i] = (struct reader){.shared = &shared, .id = i, .seed = i + 1};
		assert_int_equal(pthread_create(&thread[i], NULL, read_routes, &reader[i]), 0);
	}
	pthread_barrier_wait(&shared.start);
	change_routes(shared.t, 9);
	atomic_store(&shared.stop, true);
	for (unsigned int i = 0; i < READERS; i++) {
		pthread_join(thread[i], NULL);
		print_message("seed %u: %lu lasting, %lu longer\n", i + 1, reader[i].lasting,
			reader[i].longer);
		assert_true(reader[i].lasting > 0 && reader[i].longer > 0);
	}
	pthread_barrier_destroy(&shared.start);
	route_table_free(shared.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, eal_qsbr_start, eal_qsbr_stop);
}
