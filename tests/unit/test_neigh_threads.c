// SPDX-License-Identifier: BSD-3-Clause
// The workers' lookup of neighbours, also all the time beside the control thread. Proves that it
// gets an address's own link address or none.
#include <pthread.h>

#include "eal.h"
#include "neigh_lookup.h"
#include "test.h"

#define PORT       1
#define TABLE_MAX  16
#define RACE_ADDRS 64

static void solicit(
	void *arg, uint16_t port, const struct ip_addr *a, const struct rte_ether_addr *to)
{
	(void)arg;
	(void)port;
	(void)a;
	(void)to;
}

static struct ip_addr addr(unsigned int i)
{
	return ip_addr_from_v4(rte_cpu_to_be_32(0x0a000000 + i));
}

static struct rte_ether_addr mac(unsigned int i)
{
	return (struct rte_ether_addr){{2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}};
}

struct reader {
	const struct neigh_table *table;
	atomic_bool stop;
	atomic_ulong known, wrong;
	struct neigh_hints hints;
};

static void *reader_run(void *arg)
{
	struct reader *r = arg;

	rte_rcu_qsbr_thread_register(eal_qsbr, 0);
	rte_rcu_qsbr_thread_online(eal_qsbr, 0);
	while (!atomic_load(&r->stop)) {
		for (unsigned int i = 0; i < RACE_ADDRS; i++) {
			struct rte_ether_addr at, right = mac(i);
			struct ip_addr a = addr(i);
			uint32_t sought = neigh_lookup_start(r->table, &r->hints, PORT, &a);

			if (neigh_lookup(r->table, &r->hints, sought, PORT, &a, &at) != NEIGH_KNOWN)
				continue;
			atomic_fetch_add(&r->known, 1);
			atomic_fetch_add(&r->wrong, memcmp(&at, &right, sizeof(at)) != 0);
		}
		rte_rcu_qsbr_quiescent(eal_qsbr, 0);
	}
	rte_rcu_qsbr_thread_offline(eal_qsbr, 0);
	rte_rcu_qsbr_thread_unregister(eal_qsbr, 0);
	return NULL;
}

static void test_reader(void **state)
{
	static struct reader r;
	struct neigh_table *t = neigh_table_new(&(struct neigh_params){
		.max = TABLE_MAX, .reachable_s = 30, .qsbr = eal_qsbr, .solicit = solicit});
	pthread_t thread;
	uint64_t seed = 9, now = 0;

	(void)state;
	assert_non_null(t);
	r.table = t;
	assert_int_equal(pthread_create(&thread, NULL, reader_run, &r), 0);
	// Most addresses find no room until others have been removed.
	for (unsigned long i = 0; i < rounds(3000) || atomic_load(&r.known) < 1000; i++) {
		unsigned int n = random_below(&seed, RACE_ADDRS);
		struct ip_addr a = addr(n);
		struct rte_ether_addr m = mac(n);

		now += random_below(&seed, 2000);
		if (random_below(&seed, 2) == 0)
			neigh_resolve(t, PORT, &a, 0, now);
		else
			neigh_learn(t, PORT, &a, &m, true, now);
		neigh_tick(t, now);
	}
	atomic_store(&r.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(r.wrong, 0);
	neigh_table_free(t);
}

// Addresses of one hint, looked up in turn.
static void test_hint_shared(void **state)
{
	static struct neigh_hints hints;
	struct neigh_table *t = neigh_table_new(&(struct neigh_params){
		.max = TABLE_MAX, .reachable_s = 30, .qsbr = eal_qsbr, .solicit = solicit});

	(void)state;
	assert_non_null(t);
	for (unsigned int turn = 0; turn < 3; turn++)
		for (unsigned int i = 0; i < 3; i++) {
			const struct ip_addr a = addr(7 + i * NEIGH_HINTS);
			const struct rte_ether_addr right = mac(i);
			uint32_t sought = neigh_lookup_start(t, &hints, PORT, &a);
			struct rte_ether_addr at;

			assert_int_equal(neigh_lookup(t, &hints, sought, PORT, &a, &at),
				turn == 0 ? NEIGH_WAIT : NEIGH_KNOWN);
			if (turn == 0)
				neigh_set_static(t, PORT, &a, &right);
			else
				assert_memory_equal(&at, &right, sizeof(at));
		}
	neigh_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hint_shared),
		cmocka_unit_test(test_reader),
	};

	return cmocka_run_group_tests(tests, eal_qsbr_start, eal_qsbr_stop);
}
