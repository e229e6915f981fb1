// SPDX-License-Identifier: BSD-3-Clause
// A flow table whose capacity changes while workers run. Proves that all flows stay where they are,
// with both keys of translated ones, that none is in the table twice and none that was removed is
// found, at every step of the change, and how many there may be. Meant to be run under
// ThreadSanitizer as well.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>

#include "flow_table.h"
#include "flows.h"
#include "huge_pages.h"

#define SMALL 2048
#define LARGE (16 * SMALL)
#define KEYS  (2 * LARGE)

// The contents that the table should have: by key, the flow.
struct model {
	struct flows s;
	struct flow *flow[KEYS];
	uint32_t n;
	uint64_t seed;
	uint32_t now;
};

static void begin(struct model *m, uint32_t capacity)
{
	flows_init(&m->s, capacity, 1, NULL);
	assert_int_equal(flow_table_translate(m->s.t), 0);
}

static struct flow_pkt key_pkt(uint32_t i)
{
	return pkt_udp(HOST_A + i, 1000, HOST_B, 53);
}

// Every fourth one is translated.
static struct ip_ends reply_ends(uint32_t i)
{
	const struct flow_pkt p = pkt_udp(HOST_A + 0x100000, (uint16_t)i, HOST_B + i / 65536, 53);

	return flow_key_ends(&p.key, p.dir);
}

static struct flow_pkt reply_pkt(uint32_t i)
{
	const struct ip_ends to = reply_ends(i);
	struct flow_pkt p = key_pkt(i);

	return i % 4 == 0 ? flow_reply_to(&p, &to) : pkt_udp(HOST_B, 53, HOST_A + i, 1000);
}

static enum drop add(
	struct flows *s, unsigned int worker, uint32_t i, uint32_t now, struct flow **f)
{
	const struct flow_translation translation = {.to = reply_ends(i)};
	struct flow_pkt p = key_pkt(i);

	flow_lookup_start(s->t, &p);
	return flow_insert(s->t, worker, &p, i % 4 == 0 ? &translation : NULL, 0, now, NULL, f);
}

static struct flow *find(struct flows *s, struct flow_pkt p)
{
	struct flow *f;

	flows_find(s->t, &p, &f, 1);
	return f;
}

static void check_key(struct model *m, uint32_t i)
{
	const struct flow *f = find(&m->s, key_pkt(i));

	if (f != m->flow[i] || find(&m->s, reply_pkt(i)) != f)
		fail_msg("flow %u is not where it was, at step %d", i, m->s.t->move.step);
}

static void change_one(struct model *m)
{
	const uint32_t i = random_below(&m->seed, KEYS);
	struct flow *f;

	check_key(m, i);
	if (m->flow[i] != NULL) {
		flow_remove(m->s.t, 0, m->flow[i], m->now);
		m->flow[i] = NULL;
		m->n--;
	} else if (m->n < m->s.capacity / 16 * 15) {
		assert_int_equal(add(&m->s, 0, i, m->now, &f), DROP_NONE);
		assert_int_equal(add(&m->s, 0, i, m->now, &m->flow[i]), FLOW_EXISTS);
		assert_ptr_equal(f, m->flow[i]);
		m->n++;
	}
	check_key(m, i);
}

static void check_all(struct model *m)
{
	for (uint32_t i = 0; i < KEYS; i++)
		check_key(m, i);
	assert_int_equal(flow_count(m->s.t), m->n);
}

// Changes n flows while the table continues its change, and ages few entries at a time.
static void change(struct model *m, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		change_one(m);
		flow_table_fill(m->s.t);
		if (random_below(&m->seed, 16) == 0)
			flow_table_tick(m->s.t);
		if (i % 4 == 0)
			flows_tick(&m->s, m->now, 16);
	}
}

static void capacity_change(struct model *m, uint32_t capacity)
{
	assert_int_equal(flow_table_prepare(m->s.t, capacity), 0);
	flow_table_resize(m->s.t, capacity);
}

static void wait_moved(struct model *m)
{
	while (m->s.t->move.step != FLOW_MOVE_NONE)
		change(m, 16);
}

static void test_model(void **state)
{
	static struct model m;
	unsigned int steps = 0;

	(void)state;
	m = (struct model){.seed = 1};
	begin(&m, SMALL);
	change(&m, 20 * SMALL);
	for (uint32_t capacity = 2 * SMALL; capacity <= LARGE; capacity *= 2) {
		capacity_change(&m, capacity);
		while (m.s.t->move.step != FLOW_MOVE_NONE) {
			steps |= (1u << m.s.t->move.step) & ~(1u << FLOW_MOVE_CLEARS);
			change(&m, 1 + random_below(&m.seed, 16));
			if (random_below(&m.seed, 16) == 0)
				check_all(&m);
		}
		m.s.capacity = capacity;
		check_all(&m);
		change(&m, 20 * capacity);
		check_all(&m);
	}
	assert_in_range(m.n, LARGE / 2, LARGE);
	assert_int_equal(steps, (1u << (FLOW_MOVE_LEFT + 1)) - (1u << FLOW_MOVE_ANNOUNCED));
	flows_fini(&m.s);
}

// As many flows as there is room for.
static uint32_t fill(struct flows *s, uint32_t from)
{
	struct flow *f;
	uint32_t i = from;

	while (add(s, 0, i, 0, &f) == DROP_NONE && flows_count(s).evicted == 0)
		i++;
	return i - from;
}

// A smaller capacity is one for new flows: flows that are there stay.
static void test_shrink(void **state)
{
	static struct model m;
	enum drop d = DROP_NONE;
	struct flow *f;

	(void)state;
	m = (struct model){.seed = 2};
	begin(&m, LARGE);
	change(&m, 20 * SMALL);
	capacity_change(&m, SMALL);
	assert_int_equal(m.s.t->move.step, FLOW_MOVE_NONE);
	check_all(&m);
	assert_true(m.n > 2 * SMALL);
	for (uint32_t i = 0; i < KEYS; i++)
		if (m.flow[i] != NULL && m.n-- > SMALL / 2) {
			flow_remove(m.s.t, 0, m.flow[i], 0);
			m.flow[i] = NULL;
		}
	for (unsigned int i = 0; i < 8; i++)
		flows_tick(&m.s, 0, 0);
	while (flow_table_fill(m.s.t))
		;
	// A search of few entries seldom finds one to evict where most of the index is empty.
	for (uint32_t i = 0; d == DROP_NONE && flows_count(&m.s).evicted == 0; i++)
		if (m.flow[i] == NULL)
			d = add(&m.s, 0, i, 0, &f);
	assert_true(d == DROP_NONE || d == DROP_FLOW_TABLE_FULL);
	assert_in_range(flow_count(m.s.t), SMALL - 64, SMALL + 64);
	flows_fini(&m.s);
}

// To the large capacity, until all of it has memory.
static void grow_to_the_end(struct model *m)
{
	capacity_change(m, LARGE);
	while (m->s.t->move.step != FLOW_MOVE_NONE) {
		flow_table_fill(m->s.t);
		flow_table_tick(m->s.t);
		flows_tick(&m->s, 0, 64);
	}
	while (flow_table_fill(m->s.t))
		;
}

// A worker still looks at all entries in a round, as many as may have flows.
static void test_round_after_shrink(void **state)
{
	static struct model m;
	struct flow *f;
	uint32_t slice;

	(void)state;
	m = (struct model){.seed = 5};
	begin(&m, SMALL);
	slice = flow_table_slice(m.s.t);
	grow_to_the_end(&m);
	assert_in_range(flow_table_slice(m.s.t), 8 * slice, 32 * slice);
	for (uint32_t i = 0; i < LARGE / 2; i++)
		assert_int_equal(add(&m.s, 0, i, 0, &f), DROP_NONE);
	capacity_change(&m, SMALL);
	for (unsigned int i = 0; i < FLOW_ROUND_MS; i++)
		flow_tick(m.s.t, 0, 3600000, flow_table_slice(m.s.t));
	assert_int_equal(flow_count(m.s.t), 0);
	flows_fini(&m.s);
}

// Memory that is opened counts, so that too much of it is refused at once.
static void test_memory_counts(void **state)
{
	char line[256], range[64] = "";
	void *space = huge_pages_space(4 * HUGE_PAGE);
	bool counts = false, here = false;
	FILE *f;

	(void)state;
	assert_non_null(space);
	assert_int_equal(huge_pages_open(space, 2 * HUGE_PAGE), 0);
	f = fopen("/proc/self/smaps", "r");
	snprintf(range, sizeof(range), "%lx-", (unsigned long)space);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strchr(line, '-') != NULL && strchr(line, ':') > strchr(line, '-'))
			here = strncmp(line, range, strlen(range)) == 0;
		if (here && strncmp(line, "VmFlags:", 8) == 0)
			counts = strstr(line, " ac") != NULL;
	}
	fclose(f);
	assert_true(counts);
	munmap(space, 4 * HUGE_PAGE);
}

// More than the address space is for, or while another change is on.
static void test_refused(void **state)
{
	static struct model m;

	(void)state;
	m = (struct model){.seed = 3};
	begin(&m, SMALL);
	assert_int_equal(flow_table_prepare(m.s.t, 20 * SMALL), -ENOMEM);
	assert_int_equal(flow_table_prepare(m.s.t, LARGE), 0); // and not used
	capacity_change(&m, 2 * SMALL);
	change(&m, 64);
	assert_int_equal(flow_table_prepare(m.s.t, 4 * SMALL), -EBUSY);
	assert_int_equal(flow_table_prepare(m.s.t, SMALL), 0);
	wait_moved(&m);
	assert_int_equal(flow_table_prepare(m.s.t, 4 * SMALL), 0);
	flows_fini(&m.s);
}

// Room for more comes when the index is there.
static void test_room(void **state)
{
	static struct model m;

	(void)state;
	m = (struct model){.seed = 4};
	begin(&m, SMALL);
	while (flow_table_fill(m.s.t))
		;
	assert_in_range(fill(&m.s, 0), SMALL - 64, SMALL + 64);
	flows_fini(&m.s);
	begin(&m, SMALL);
	grow_to_the_end(&m);
	assert_in_range(fill(&m.s, 0), LARGE - 64, LARGE + 64);
	flows_fini(&m.s);
}

// Whether the lookups of all keys that are started before a step of a change find their flows after
// it.
static void step_with_lookups(struct model *m, uint32_t n)
{
	static union flow_place place[SMALL];
	static struct flow_pkt p[SMALL];
	struct flow_index *x = flow_index(m->s.t);

	for (uint32_t i = 0; i < n; i++) {
		p[i] = key_pkt(i);
		place[i] = flow_lookup_start(m->s.t, &p[i]);
	}
	flow_table_fill(m->s.t);
	flow_table_tick(m->s.t);
	for (uint32_t i = 0; i < n; i++) {
		flow_find_burst(m->s.t, x, &p[i], &place[i], 1);
		assert_non_null(place[i].own);
	}
}

// A flow may be in its second bucket of the former index, and in its first one of the next.
static void test_lookups_across_steps(void **state)
{
	const uint32_t n = SMALL * 15 / 16;
	const struct flow_index *former;
	static struct model m;
	struct flow *f;

	(void)state;
	m = (struct model){.seed = 6};
	begin(&m, SMALL);
	while (flow_table_fill(m.s.t))
		;
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(add(&m.s, 0, i, 0, &f), DROP_NONE);
	former = flow_index(m.s.t);
	capacity_change(&m, 4 * SMALL);
	assert_int_equal(m.s.t->move.step, FLOW_MOVE_CLEARS);
	while (m.s.t->move.step != FLOW_MOVE_NONE) {
		step_with_lookups(&m, n);
		flows_tick(&m.s, 0, 256);
	}
	assert_ptr_not_equal(flow_index(m.s.t), former);
	flows_fini(&m.s);
}

// --- threads ---

#define THREADS 4
#define OWN     512 // flows of a worker, beside one of all

struct shared {
	struct flows s;
	atomic_uint running;
};

struct worker {
	struct shared *shared;
	unsigned int id;
	uint64_t seed;
};

// Nobody else has its flows; all insert the same other ones.
static void turn(struct worker *w, bool has[OWN])
{
	struct flows *s = &w->shared->s;

	for (unsigned int n = 0; n < 32; n++) {
		const uint32_t k = random_below(&w->seed, OWN),
			       i = 4 * (w->id * OWN + k) + w->id % 2;
		struct flow *f = find(s, key_pkt(i)), *same;
		enum drop d;

		if ((f != NULL) != has[k] || find(s, reply_pkt(i)) != f)
			fail_msg("flow %u: %s", i, has[k] ? "lost" : "back");
		if (f != NULL)
			flow_remove(s->t, w->id, f, 0);
		else if (add(s, w->id, i, 0, &f) != DROP_NONE)
			fail_msg("flow %u is refused", i);
		has[k] = !has[k];
		d = add(s, w->id, KEYS - 1 - random_below(&w->seed, 64), 0, &same);
		if (d != DROP_NONE && d != FLOW_EXISTS)
			fail_msg("a flow of all is refused: %d", d);
		if (n % 4 == 0)
			flow_remove(s->t, w->id, same, 0);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct flows *s = &w->shared->s;
	bool has[OWN] = {false};

	do {
		// Removed entries wait for workers that do not run at this moment.
		if (flow_pool_free(s->t) > SMALL / 2)
			turn(w, has);
		rte_rcu_qsbr_quiescent(s->qsbr, w->id);
		flow_tick(s->t, w->id, 0, 256);
	} while (atomic_load(&w->shared->running) > 0);
	rte_rcu_qsbr_thread_offline(s->qsbr, w->id);
	return NULL;
}

// Grows step by step, as the control thread does, with a list and a flush beside it.
static void grow(struct shared *shared)
{
	struct flow_table *t = shared->s.t;
	const struct flow_filter none = {.proto = IPPROTO_TCP};

	for (uint32_t capacity = 2 * SMALL; capacity <= LARGE; capacity *= 2) {
		assert_int_equal(flow_table_prepare(t, capacity), 0);
		flow_table_resize(t, capacity);
		while (t->move.step != FLOW_MOVE_NONE) {
			struct flow_view view[16];
			uint32_t position = FLOW_LIST_START;

			flow_table_fill(t);
			flow_table_tick(t);
			flow_flush(t, &none);
			flow_list(t, &none, 0, &position, view, 16);
			sched_yield();
		}
	}
}

static void test_threads(void **state)
{
	static struct shared shared;
	pthread_t thread[THREADS];
	struct worker w[THREADS];

	(void)state;
	flows_init(&shared.s, 2 * SMALL, THREADS, NULL);
	assert_int_equal(flow_table_translate(shared.s.t), 0);
	atomic_store(&shared.running, 1);
	for (unsigned int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){.shared = &shared, .id = i, .seed = i + 1};
		assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
	}
	grow(&shared);
	atomic_store(&shared.running, 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(flows_count(&shared.s).evicted, 0);
	flows_fini(&shared.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_shrink),
		cmocka_unit_test(test_round_after_shrink),
		cmocka_unit_test(test_memory_counts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_lookups_across_steps),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
