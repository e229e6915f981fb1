// SPDX-License-Identifier: BSD-3-Clause
// A worker's own functions: counting drops, freeing buffers, posting events.
#include <rte_telemetry.h>

#include "eal.h"
#include "test.h"
#include "packet_pool.h"
#include "pkt_drop.h"
#include "worker.h"

static struct rte_mempool *pool;

static int start(void **state)
{
	(void)state;
	eal_start();
	pool = packet_pool_new("packets", 2047, 0, 256, SOCKET_ID_ANY);
	return pool != NULL ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	eal_stop();
	return 0;
}

static struct worker *new_worker(unsigned int id)
{
	struct worker *w = worker_new(&(struct worker_params){
		.id = id,
		.pool = pool,
		.large_pool = pool,
		.tsc_hz = 1000,
		.hash_key = {{1, 2, 3, 4, 5, 6, 7, 8}},
		.held_max = 4,
		.reassembly_max = 8,
		.reassembly_s = 1,
	});

	assert_non_null(w);
	return w;
}

static struct pkt new_pkt(void)
{
	struct pkt p = {.m = rte_pktmbuf_alloc(pool)};

	assert_non_null(p.m);
	return p;
}

// The reasons have names of their own, help that fits a string of telemetry, and advice.
static void test_reasons(void **state)
{
	(void)state;
	for (enum drop d = 1; d < DROP_COUNT; d++) {
		assert_true(strlen(drop_info[d].name) > 0);
		assert_in_range(strlen(drop_info[d].help), 11, RTE_TEL_MAX_STRING_LEN - 1);
		assert_true(strlen(drop_info[d].advice) > 10);
		for (enum drop e = 1; e < d; e++)
			assert_string_not_equal(drop_info[d].name, drop_info[e].name);
	}
}

static void test_drop(void **state)
{
	struct worker *w = new_worker(1);
	struct sa_per_worker in_counters[2] = {0}, out_counters[2] = {0};
	struct sa_in in = {.sa.per_worker = in_counters};
	struct sa_out out = {.sa.per_worker = out_counters};
	struct pkt p = new_pkt();

	(void)state;
	p.sa_in = &in;
	pkt_drop(w, &p, DROP_DUMMY); // of scope SA
	assert_int_equal(w->counters.drops[DROP_DUMMY], 1);
	assert_int_equal(sa_dropped(&in_counters[1], DROP_DUMMY), 1);
	p = new_pkt();
	p.sa_in = &in; // out of one tunnel, into another
	p.sa_out = &out;
	pkt_drop(w, &p, DROP_LIFETIME);
	assert_int_equal(sa_dropped(&in_counters[1], DROP_LIFETIME), 0);
	assert_int_equal(sa_dropped(&out_counters[1], DROP_LIFETIME), 1);
	p = new_pkt();
	p.sa_in = &in;
	pkt_drop(w, &p, DROP_NO_ROUTE); // not caused by the SA
	assert_int_equal(w->counters.drops[DROP_NO_ROUTE], 1);
	assert_int_equal(sa_dropped(&in_counters[1], DROP_NO_ROUTE), 0);
	assert_int_equal(sa_dropped(&in_counters[0], DROP_DUMMY), 0); // of another worker
	assert_int_equal(rte_mempool_in_use_count(pool), 3);
	worker_mbufs_free(w);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	worker_free(w);
}

static void test_free_batch(void **state)
{
	struct worker *w = new_worker(1);

	(void)state;
	for (unsigned int i = 0; i < 3 * FREE_BATCH_MAX + 1; i++)
		worker_release(w, new_pkt().m);
	assert_in_range(rte_mempool_in_use_count(pool), 1, FREE_BATCH_MAX);
	worker_mbufs_free(w);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	worker_mbufs_free(w);
	worker_free(w);
}

static unsigned int take_all(struct worker *w, unsigned int of_port[])
{
	struct event e;
	unsigned int n = 0;

	while (worker_event_dequeue(w, &e)) {
		assert_int_equal(ip_addr_v4(&e.addr), of_port[e.port]++);
		n++;
	}
	return n;
}

// Events from stations on links stay in order, and use no more of the ring than the port's share;
// events for pending look-ups have room all the same.
static void test_link_events(void **state)
{
	static struct snapshot snapshot = {.n_ports = 2};
	struct worker *w = new_worker(1);

	(void)state;
	w->snapshot = &snapshot;
	for (unsigned int round = 0; round < 20; round++) {
		unsigned int of_port[3] = {0};

		for (uint16_t port = 0; port < 2; port++)
			for (unsigned int i = 0; i < 5000; i++)
				worker_event_post_share(w,
					&(struct event){.kind = EVENT_NEIGH_HEARD,
						.port = port,
						.addr = ip_addr_from_v4(i)},
					SHARE_LINK);
		for (unsigned int i = 0; i < 5000; i++)
			worker_event_post(w, &(struct event){.kind = EVENT_NEIGH_NEEDED,
						     .port = 2,
						     .addr = ip_addr_from_v4(i)});
		assert_in_range(take_all(w, of_port), 500, 520);
		assert_int_equal(of_port[0], 128);
		assert_int_equal(of_port[1], 128);
		assert_in_range(of_port[2], 256, 264);
	}
	worker_free(w);
}

// Events caused by stations on one link leave room for the same events of another, for other kinds,
// and for pending look-ups.
static void test_shares(void **state)
{
	static struct snapshot snapshot = {.n_ports = 2};
	struct worker *w = new_worker(1);
	unsigned int of_port[3] = {0};
	struct event e;

	(void)state;
	w->snapshot = &snapshot;
	for (uint16_t port = 0; port < 2; port++)
		for (unsigned int i = 0; i < 5000; i++)
			for (enum event_share share = SHARE_LINK; share < SHARES; share++)
				worker_event_post_share(w, &(struct event){.port = port}, share);
	worker_event_post(w, &(struct event){.port = 2});
	while (worker_event_dequeue(w, &e))
		of_port[e.port]++;
	assert_int_equal(of_port[0], 128 + 52 + 32 + 16); // 12 next hops are left for other holders
	assert_int_equal(of_port[1], 128 + 52 + 32 + 16);
	assert_int_equal(of_port[2], 1);
	worker_free(w);
}

// Next hops of a port that many holders need: a flood by some leaves room for the next one.
static void test_shares_of_holders(void **state)
{
	static struct snapshot snapshot = {.n_ports = 2};
	struct worker *w = new_worker(1);
	unsigned int of[3] = {0};
	struct event e;

	(void)state;
	w->snapshot = &snapshot;
	for (uint32_t holder = 0; holder < COUNT_OF(of); holder++)
		for (unsigned int i = 0; i < 1000; i++)
			worker_event_post_share(
				w, &(struct event){.holder = holder}, SHARE_RESOLVE);
	while (worker_event_dequeue(w, &e))
		of[e.holder]++;
	for (unsigned int i = 0; i < COUNT_OF(of); i++)
		assert_in_range(of[i], 1, 52);
	worker_free(w);
}

static enum drop odd_ones_out(struct worker *w, struct pkt *p)
{
	(void)w;
	return p->iface % 2 == 1 ? DROP_TTL : DROP_NONE;
}

static void test_burst(void **state)
{
	struct worker *w = new_worker(1);

	(void)state;
	for (uint16_t i = 0; i < 7; i++) {
		struct pkt *p = pkt_new(w);

		*p = new_pkt();
		p->iface = i;
		burst_add(&w->forward, p);
	}
	burst_apply(w, &w->forward, odd_ones_out);
	assert_int_equal(w->forward.n, 4);
	for (uint16_t i = 0; i < 4; i++)
		assert_int_equal(w->forward.p[i]->iface, 2 * i);
	assert_int_equal(w->counters.drops[DROP_TTL], 3);
	for (uint16_t i = 0; i < 4; i++)
		worker_release(w, w->forward.p[i]->m);
	worker_mbufs_free(w);
	worker_free(w);
}

// The packets that it holds are freed with it.
static void test_frees_what_it_holds(void **state)
{
	struct worker *w = new_worker(1);

	(void)state;
	w->held[w->n_held++].p = new_pkt();
	w->tx[3].m[w->tx[3].n++] = new_pkt().m;
	worker_free(w);
	worker_free(NULL);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	worker_free(new_worker(1)); // its names are free again
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_free_batch),
		cmocka_unit_test(test_link_events),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_shares_of_holders),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_frees_what_it_holds),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
