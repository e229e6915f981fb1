// SPDX-License-Identifier: BSD-3-Clause
// The flow table with several workers at once. Proves that two that insert the same flow use one
// entry, while the directions of a connection are on any workers, entries are added and removed,
// and another thread lists and flushes. Meant to be run under ThreadSanitizer as well.
#include <pthread.h>
#include <sched.h>

#include "flow_track.h"
#include "flows.h"

#define THREADS 4

struct shared {
	struct flows s;
	pthread_barrier_t start;
	_Atomic uint32_t now;
	atomic_uint running;
	atomic_bool all_seen;        // flows that end for every reason
	struct flow *_Atomic *found; // by key
	_Atomic uint32_t *passed;    // connections, by pair: how far they are
};

struct worker {
	struct shared *shared;
	unsigned int id;
	uint64_t seed;
	uint64_t passed, refused;
};

static void pass_on(struct worker *w, unsigned int n)
{
	struct flows *s = &w->shared->s;

	rte_rcu_qsbr_quiescent(s->qsbr, w->id);
	flow_tick(s->t, w->id, atomic_load(&w->shared->now), n);
}

static void run_threads(struct shared *shared, void *(*run)(void *), struct worker w[THREADS])
{
	pthread_t thread[THREADS];

	assert_int_equal(pthread_barrier_init(&shared->start, NULL, THREADS), 0);
	atomic_store(&shared->running, THREADS);
	for (unsigned int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){.shared = shared, .id = i, .seed = i + 1};
		assert_int_equal(pthread_create(&thread[i], NULL, run, &w[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&shared->start);
}

// A worker that has finished delays no other.
static void *done(struct worker *w)
{
	rte_rcu_qsbr_thread_offline(w->shared->s.qsbr, w->id);
	atomic_fetch_sub(&w->shared->running, 1);
	return NULL;
}

// All workers insert the same flows, in orders of their own. Each flow begins with a decision,
// which whoever finds it has at once.

#define SAME_KEYS 4096

static struct flow_pkt key_pkt(uint32_t i)
{
	uint8_t buf[PACKET_MAX];

	return flow_pkt_of(packet_udp(buf, 0x0a000000 + i, 0xc0000201, (uint16_t)i, 53));
}

static struct flow *begin_decided(struct worker *w, uint32_t key)
{
	const struct flow_decision d = {.by = {{.rule = (uint16_t)(1 + key)}},
		.egress = 64 * (1 + key),
		.ingress = key,
		.mark = 1};
	struct flow_table *t = w->shared->s.t;
	struct flow_pkt p = key_pkt(key);
	struct flow_decision found;
	struct flow *f;
	enum drop reason;

	flow_lookup_start(t, &p);
	f = flow_find(t, &p);
	if (f == NULL) {
		reason = flow_insert(t, w->id, &p, NULL, 0, 0, &d, &f);
		if (reason != DROP_NONE && reason != FLOW_EXISTS)
			fail_msg("refused");
	}
	if (!flow_decision_get(f, p.dir, 1, &found) || found.by.all != d.by.all ||
		found.egress != d.egress || found.ingress != d.ingress)
		fail_msg("key %u has no decision, or another one", key);
	if (flow_track(t, w->id, f, &p, 0) != DROP_NONE)
		fail_msg("does not fit");
	return f;
}

static void *insert_same(void *arg)
{
	struct worker *w = arg;
	struct shared *shared = w->shared;
	uint32_t turn = random_below(&w->seed, 16);

	pthread_barrier_wait(&shared->start);
	for (uint32_t i = 0; i < SAME_KEYS; i++) {
		uint32_t key = i ^ turn;
		struct flow *f = begin_decided(w, key), *other = NULL;

		if (!atomic_compare_exchange_strong(&shared->found[key], &other, f) && other != f)
			fail_msg("key %u has two flows", key);
		if (i % 64 == 0)
			pass_on(w, 64);
	}
	return done(w);
}

static void test_same_keys(void **state)
{
	struct worker w[THREADS];
	struct shared shared = {0};

	(void)state;
	flows_init(&shared.s, SAME_KEYS, THREADS, NULL);
	shared.found = calloc(SAME_KEYS, sizeof(*shared.found));
	run_threads(&shared, insert_same, w);
	assert_int_equal(flow_count(shared.s.t), SAME_KEYS);
	assert_int_equal(flows_count(&shared.s).created, SAME_KEYS);
	for (uint32_t i = 0; i < SAME_KEYS; i++) {
		struct flow_pkt p = key_pkt(i);

		assert_ptr_equal(flows_find_one(shared.s.t, &p), shared.found[i]);
	}
	free(shared.found);
	flows_fini(&shared.s);
}

// Connections whose ends are on two workers: each segment is sent when the other end has received
// the one that causes it, as in a network. None may be dropped, and all end in TIME_WAIT.

#define CONNECTIONS 256
#define EXCHANGES   64 // segments of data in each direction
#define SEGMENT_LEN 100

enum { OPENING = 3, CLOSING = 3 }; // segments

// Segment n of a connection; even ones from the end that opens, but for the last ones.
static struct flow_pkt segment_of(uint32_t connection, uint32_t n)
{
	uint8_t buf[PACKET_MAX];
	bool back = n % 2 == 1;
	uint32_t data = n < OPENING ? 0 : RTE_MIN(n - OPENING, 2u * EXCHANGES);
	uint32_t isn = connection * 0x01234567;
	// Data goes back first: the opener's ACK was segment 2.
	uint32_t sent[2] = {data / 2 * SEGMENT_LEN, (data + 1) / 2 * SEGMENT_LEN};
	uint32_t fin = n >= OPENING + 2 * EXCHANGES ? n - OPENING - 2 * EXCHANGES : 0;
	struct segment s = {
		.src = back ? 0xc0000201 : 0x0a000000 + connection,
		.dst = back ? 0x0a000000 + connection : 0xc0000201,
		.sport = back ? 80 : 1000,
		.dport = back ? 1000 : 80,
		.window = SEGMENT_LEN,
		.scale = -1,
	};

	if (n == 0) {
		s.flags = SYN;
		s.seq = isn;
	} else if (n == 1) {
		s.flags = SYN | ACK;
		s.seq = isn;
		s.ack = isn + 1;
	} else if (n == 2) {
		s.flags = ACK;
		s.seq = s.ack = isn + 1;
	} else if (n < OPENING + 2 * EXCHANGES) {
		s.flags = ACK | PSH;
		s.len = SEGMENT_LEN;
		s.seq = isn + 1 + sent[back];
		s.ack = isn + 1 + sent[!back];
	} else { // FIN, ACK and FIN, ACK
		s.flags = fin < 2 ? ACK | FIN : ACK;
		s.seq = isn + 1 + sent[back] + (fin == 2);
		s.ack = isn + 1 + sent[!back] + (fin > 0);
	}
	return flow_pkt_of(packet_tcp(buf, &s));
}

static void *talk(void *arg)
{
	struct worker *w = arg;
	struct shared *shared = w->shared;
	uint32_t last = OPENING + 2 * EXCHANGES + CLOSING;
	unsigned int unfinished;

	pthread_barrier_wait(&shared->start);
	do {
		unfinished = 0;
		for (uint32_t c = 0; c < CONNECTIONS; c++) {
			uint32_t n = atomic_load(&shared->passed[c]);
			struct flow *f;

			unfinished += n < last;
			// Of each connection, one worker has one end and another worker the other.
			if (n == last ||
				(c + n % 2 * (1 + c / THREADS % (THREADS - 1))) % THREADS != w->id)
				continue;

			struct flow_pkt p = segment_of(c, n);
			enum drop d = flows_pass(&shared->s, w->id, &p, 0, &f);

			if (d != DROP_NONE)
				fail_msg("connection %u, segment %u: %s", c, n, drop_info[d].name);
			atomic_store(&shared->passed[c], n + 1);
		}
		pass_on(w, 64);
		sched_yield();
	} while (unfinished > 0);
	return done(w);
}

static void test_directions(void **state)
{
	struct worker w[THREADS];
	struct shared shared = {0};

	(void)state;
	flows_init(&shared.s, CONNECTIONS, THREADS, NULL);
	shared.passed = calloc(CONNECTIONS, sizeof(*shared.passed));
	run_threads(&shared, talk, w);
	for (uint32_t c = 0; c < CONNECTIONS; c++) {
		struct flow_pkt p = segment_of(c, 0);
		struct flow *f = flows_find_one(shared.s.t, &p);

		assert_non_null(f);
		assert_int_equal(flow_word_state(flow_word(f)), FLOW_TCP_TIME_WAIT);
		assert_int_equal(
			f->dir[0].packets + f->dir[1].packets, OPENING + 2 * EXCHANGES + CLOSING);
	}
	free(shared.passed);
	flows_fini(&shared.s);
}

// Everything at once: any packet of few connections on any worker, in a table that is too small,
// while time passes quickly and another thread lists and flushes.

#define CHURN_KEYS         2000
#define CHURN_CAPACITY     512
#define CHURN_SOURCE_LIMIT 3

static struct flow_pkt churn_pkt(uint64_t *seed)
{
	static const uint8_t flags[] = {SYN, SYN, SYN | ACK, ACK, ACK, ACK | FIN, RST, ACK | PSH};
	uint32_t i = random_below(seed, CHURN_KEYS);
	bool back = random_below(seed, 2) == 1;
	uint32_t a = 0x0a000000 + i, b = 0xc0000201;
	uint8_t buf[PACKET_MAX];

	if (i % 4 == 0)
		return flow_pkt_of(
			back ? packet_udp(buf, b, a, 53, 1) : packet_udp(buf, a, b, 1, 53));
	return flow_pkt_of(
		packet_tcp(buf, &(struct segment){.src = back ? b : a,
					.dst = back ? a : b,
					.sport = back ? 80 : 1000,
					.dport = back ? 1000 : 80,
					.flags = flags[random_below(seed, COUNT_OF(flags))],
					.seq = random_below(seed, 2),
					.ack = random_below(seed, 2),
					.window = 1000,
					.scale = -1}));
}

static void *churn(void *arg)
{
	struct worker *w = arg;
	struct shared *shared = w->shared;
	struct flow_table *t = shared->s.t;

	pthread_barrier_wait(&shared->start);
	for (unsigned long i = 0; i < rounds(2000) || !atomic_load(&shared->all_seen); i++) {
		struct flow_decision d = {.egress = flow_egress_protect((void *)(64 * (1 + i)))};
		struct flow_pkt p[32];
		struct flow *f[32];
		uint32_t now = atomic_load(&shared->now);

		for (unsigned int j = 0; j < COUNT_OF(p); j++)
			p[j] = churn_pkt(&w->seed);
		flows_find(t, p, f, COUNT_OF(p));
		for (unsigned int j = 0; j < COUNT_OF(p); j++) {
			if (f[j] != NULL && !flow_key_equal(&f[j]->key, &p[j].key))
				fail_msg("found the flow of another");
			if (flows_pass(&shared->s, w->id, &p[j], now, &f[j]) != DROP_NONE) {
				w->refused++;
				continue;
			}
			w->passed++;
			if (!flow_key_equal(&f[j]->key, &p[j].key))
				fail_msg("the flow of another");
			if (!flow_decision_get(f[j], p[j].dir, 1, &d))
				flow_decision_set(f[j], p[j].dir, 1, &d);
		}
		if (w->id == 0)
			atomic_fetch_add(&shared->now, 500);
		pass_on(w, 200);
	}
	return done(w);
}

static void *control(void *arg)
{
	struct shared *shared = arg;
	struct flow_filter any = {0}, some = {.proto = IPPROTO_UDP};
	struct flow_counters c;
	struct flow_view v[16];

	while (atomic_load(&shared->running) > 0) {
		uint32_t position = FLOW_LIST_START;

		while (position != FLOW_LIST_END) {
			unsigned int n = flow_list(shared->s.t, &any, atomic_load(&shared->now),
				&position, v, COUNT_OF(v));

			for (unsigned int i = 0; i < n; i++)
				if (v[i].key.port[0] == 0 || v[i].state == FLOW_FREE)
					fail_msg("listed what never was");
		}
		flow_flush(shared->s.t, &some);
		flow_counters_sum(shared->s.t, &c);
		if (c.expired > 0 && c.evicted > 0 && c.flushed > 0 && c.reopened > 0)
			atomic_store(&shared->all_seen, true);
		sched_yield();
	}
	return NULL;
}

// No counter of this source is left: it may open as many flows as the limit allows.
static void check_unaccounted(struct flows *s, uint32_t addr)
{
	struct flow *f[CHURN_SOURCE_LIMIT];

	for (uint16_t i = 0; i < CHURN_SOURCE_LIMIT; i++) {
		uint8_t buf[PACKET_MAX];
		struct flow_pkt p = flow_pkt_of(packet_udp(buf, addr, 0xc0000201, i, 99));

		assert_int_equal(flows_pass(s, i, &p, 0, &f[i]), DROP_NONE);
	}
	for (unsigned int i = 0; i < CHURN_SOURCE_LIMIT; i++)
		flow_remove(s->t, i, f[i], 0);
	flows_tick(s, 0, 0);
}

static void test_churn(void **state)
{
	struct worker w[THREADS];
	struct shared shared = {0};
	uint64_t passed = 0, refused = 0, counted = 0;
	struct flow_config config;
	struct flow_counters c;
	pthread_t thread;

	(void)state;
	flow_config_init(&config);
	config.pick_up = true;
	config.source_limit = CHURN_SOURCE_LIMIT;
	flows_init(&shared.s, CHURN_CAPACITY, THREADS, &config);
	atomic_store(&shared.running, THREADS);
	assert_int_equal(pthread_create(&thread, NULL, control, &shared), 0);
	run_threads(&shared, churn, w);
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < THREADS; i++) {
		passed += w[i].passed;
		refused += w[i].refused;
		rte_rcu_qsbr_thread_online(shared.s.qsbr, i);
	}
	c = flows_count(&shared.s);
	for (unsigned int d = 0; d < DROP_COUNT; d++)
		counted += c.refused[d];
	assert_int_equal(refused, counted);
	assert_true(passed + refused >= THREADS * 32 * rounds(2000));
	// Neither entries nor counts of sources are left.
	flows_round(&shared.s, shared.now + 432001u * 1000);
	flows_round(&shared.s, shared.now + 432001u * 1000);
	assert_int_equal(flow_count(shared.s.t), 0);
	for (uint32_t i = 0; i < CHURN_KEYS; i++)
		check_unaccounted(&shared.s, 0x0a000000 + i);
	assert_int_equal(flow_count(shared.s.t), 0);
	config.source_limit = 0;
	flow_table_configure(shared.s.t, &config);
	for (uint32_t i = 0; i < CHURN_CAPACITY; i++) {
		struct flow_pkt p = key_pkt(i);
		struct flow *f;

		assert_int_equal(flows_pass(&shared.s, i % THREADS, &p, 0, &f), DROP_NONE);
	}
	assert_int_equal(flows_count(&shared.s).evicted, c.evicted);
	flows_fini(&shared.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_keys),
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_churn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
