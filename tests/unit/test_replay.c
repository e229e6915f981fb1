// SPDX-License-Identifier: BSD-3-Clause
// The anti-replay window against a plain model, and from several threads at once.
#include <errno.h>
#include <pthread.h>

#include "replay.h"
#include "test.h"

static const uint32_t sizes[] = {32, 64, 128, 1000, 1024, 65536};

// The model remembers every number it has accepted.

#define SEEN_SLOTS (1 << 16)
#define RUN_STEPS  20000 // maximum: the set stays less than half full
#define BURST      64
#define SHORT_RUN  100

// The kinds of numbers of a run. FAR: as with ESN, often nearly 2^32 ahead.
enum range { NEAR, FAR };

struct model {
	uint64_t size, top;
	uint64_t seen[SEEN_SLOTS]; // open addressing; 0: empty
	uint64_t mask;             // of the slots that are in use
};

static void model_init(struct model *m, uint32_t size, unsigned int steps)
{
	m->size = size;
	m->top = 0;
	m->mask = steps > SHORT_RUN ? SEEN_SLOTS - 1 : 4 * SHORT_RUN - 1;
	memset(m->seen, 0, (m->mask + 1) * sizeof(m->seen[0]));
}

static uint64_t *model_slot(struct model *m, uint64_t seq)
{
	uint64_t i = seq * UINT64_C(0x9e3779b97f4a7c15) >> 48;

	while (m->seen[i % (m->mask + 1)] != 0 && m->seen[i % (m->mask + 1)] != seq)
		i++;
	return &m->seen[i % (m->mask + 1)];
}

// RFC 4303 A2.2, literally. 0 for a number with the upper half -1.
static uint64_t model_guess(const struct model *m, uint32_t lower)
{
	uint32_t th = (uint32_t)(m->top >> 32), tl = (uint32_t)m->top;
	uint32_t w = (uint32_t)m->size, bl = tl - w + 1;

	if (tl >= w - 1) // case A: the window is in one subspace
		th += lower >= bl ? 0 : 1;
	else if (lower >= bl) { // case B: it spans two
		if (th == 0)
			return 0;
		th--;
	}
	return (uint64_t)th << 32 | lower;
}

static bool model_check(struct model *m, uint64_t seq)
{
	if (seq == 0 || (seq < m->top && m->top - seq >= m->size))
		return false;
	return *model_slot(m, seq) != seq;
}

static void model_commit(struct model *m, uint64_t seq)
{
	*model_slot(m, seq) = seq;
	if (seq > m->top)
		m->top = seq;
}

// Numbers as peers, networks and attackers send them, seen from the highest number so far.
static uint64_t random_seq(const struct model *m, enum range range, uint64_t *seed)
{
	uint32_t size = (uint32_t)m->size;
	uint64_t ahead = 0, behind = 0;

	switch (random_below(seed, 16)) {
	default:
		ahead = 1;
		break;
	case 0:
	case 1:
	case 2:
		behind = random_below(seed, size);
		break;
	case 3:
	case 4: // around the left edge
		behind = size - 2 + random_below(seed, 5);
		break;
	case 5: // far below
		behind = size + random_below(seed, 4 * size);
		break;
	case 6:
		ahead = random_below(seed, size);
		break;
	case 7: // around a jump by a whole window
		ahead = size - 2 + random_below(seed, 5);
		break;
	case 8:
		if (random_below(seed, range == FAR ? 2 : 64) == 0)
			ahead = range == FAR ? UINT32_MAX - random_u64(seed) % 40 % (size + 8)
					     : random_u64(seed) >> 34;
		break;
	case 9:
		return random_below(seed, 64) == 0 ? 0 : m->top;
	}
	return behind > m->top ? 0 : m->top + ahead - behind;
}

static void run_model(
	uint32_t size, enum range range, uint64_t first, unsigned int steps, uint64_t *seed)
{
	static struct model m;
	struct replay r;

	model_init(&m, size, steps);
	assert_int_equal(replay_init(&r, size), 0);
	for (unsigned int i = 0; i < steps; i++) {
		uint64_t seq = i == 0 ? first : random_seq(&m, range, seed);
		uint64_t guess = model_guess(&m, (uint32_t)seq);

		if (replay_guess_seq(&r, (uint32_t)seq) != guess)
			fail_msg(
				"window %u, step %u: guess(%lu) with top %lu", size, i, seq, m.top);
		if (range == FAR) // number that the receiver infers
			seq = guess;

		bool expected = model_check(&m, seq);

		if (replay_check(&r, seq) != expected)
			fail_msg(
				"window %u, step %u: check(%lu) with top %lu", size, i, seq, m.top);
		if (random_below(seed, 10) == 0) // the ICV was wrong
			continue;
		if (seq != 0 && random_below(seed, 2) == 0) {
			bool late = expected && seq < m.top, accepted;

			if (replay_commit_one(&r, seq, &accepted) != late || accepted != expected)
				fail_msg("window %u, step %u: commit_one(%lu) with top %lu", size,
					i, seq, m.top);
		} else if (replay_commit(&r, seq) != expected) {
			fail_msg("window %u, step %u: commit(%lu) with top %lu", size, i, seq,
				m.top);
		}
		if (expected)
			model_commit(&m, seq);
	}
	replay_fini(&r, NULL);
}

// 200,000 steps for each size.
static void test_model(void **state)
{
	static const uint64_t firsts[] = {1, 31, 32, 33, 65536, UINT32_MAX - 5000, UINT32_MAX - 100,
		UINT32_MAX - 1000000, 5000, 100};
	uint64_t seed = 20;
	unsigned long runs = rounds(COUNT_OF(firsts));

	(void)state;
	for (unsigned long i = 0; i < runs; i++)
		for (size_t s = 0; s < COUNT_OF(sizes); s++)
			run_model(sizes[s], i % 2 == 0 ? NEAR : FAR, firsts[i % COUNT_OF(firsts)],
				RUN_STEPS, &seed);
}

// Short runs that begin anywhere, most of them next to a multiple of 2^32: 10,000 for each size,
// and the same with ESN.
static void test_many(void **state)
{
	uint64_t seed = 4303;
	unsigned long runs = rounds(10000);

	(void)state;
	for (unsigned long i = 0; i < runs; i++)
		for (size_t s = 0; s < COUNT_OF(sizes); s++) {
			uint64_t first = random_below(&seed, 4) == 0
						 ? random_below(&seed, UINT32_MAX - 65536)
						 : UINT32_MAX - sizes[s] - random_below(&seed, 40);

			run_model(sizes[s], NEAR, first, SHORT_RUN, &seed);
			run_model(sizes[s], FAR, first, SHORT_RUN, &seed);
		}
}

// A peer that skips all numbers of slot 0 for that many numbers.
static void check_slot_left_out(uint32_t size, uint64_t numbers)
{
	const uint64_t ring = 65536 * 4; // numbers, of the largest window
	struct replay r;
	uint64_t seq = 40; // in slot 1

	assert_int_equal(replay_init(&r, size), 0);
	assert_true(replay_commit(&r, 1));
	for (; seq < numbers; seq += UINT64_C(1) << 31)
		assert_true(replay_commit(&r, seq));
	seq = seq / ring * ring + ring;
	assert_true(replay_check(&r, seq));
	assert_true(replay_commit(&r, seq));
	assert_false(replay_check(&r, seq));
	replay_fini(&r, NULL);
}

// Tags of words repeat after 2^37 numbers, and look newer after half of that.
static void test_slot_left_out(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT_OF(sizes); s++)
		for (unsigned int bit = 35; bit < 42; bit++) {
			check_slot_left_out(sizes[s], UINT64_C(1) << bit);
			check_slot_left_out(sizes[s], UINT64_C(3) << bit);
		}
}

// The numbers of RFC 4303 A2.2, one by one.
static void test_guess(void **state)
{
	const uint64_t b = UINT64_C(1) << 32;
	struct replay r;

	(void)state;
	assert_int_equal(replay_init(&r, 64), 0);
	assert_int_equal(replay_guess_seq(&r, 1), 1);
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX - 63), UINT32_MAX - 63);
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX), 0); // would be -1
	assert_true(replay_commit(&r, 63));
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX), UINT32_MAX);
	assert_true(replay_commit(&r, b - 10));
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX - 72), UINT32_MAX - 72);
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX - 73), 2 * b - 74);
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX), b - 1);
	assert_int_equal(replay_guess_seq(&r, 0), b);
	assert_true(replay_commit(&r, b + 10));
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX - 52), b - 53);
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX - 53), 2 * b - 54);
	assert_int_equal(replay_guess_seq(&r, 9), b + 9);
	r.ring->top = UINT64_MAX;
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX - 63), UINT64_MAX - 63);
	assert_int_equal(replay_guess_seq(&r, UINT32_MAX), UINT64_MAX);
	assert_false(replay_check(&r, replay_guess_seq(&r, 5))); // there is none below
	replay_fini(&r, NULL);
}

// A packet has the lower half of its number.
static void test_end(void **state)
{
	const uint64_t b = UINT64_C(1) << 32;
	struct replay r;

	(void)state;
	assert_int_equal(replay_init(&r, 64), 0);
	assert_int_equal(replay_seq(&r, UINT32_MAX - 63), UINT32_MAX - 63);
	replay_end_set(&r, 100);
	assert_int_equal(replay_seq(&r, 100), 100);
	assert_int_equal(replay_seq(&r, 101), 0);
	replay_start_behind(&r, b);
	assert_int_equal(replay_end(&r), 100);
	assert_int_equal(replay_seq(&r, 0), 0);
	replay_end_set(&r, b + 7);
	assert_int_equal(replay_seq(&r, 7), b + 7);
	assert_int_equal(replay_seq(&r, 8), 0);
	assert_int_equal(replay_seq(&r, UINT32_MAX), b - 1);
	replay_fini(&r, NULL);
}

// Numbers that mostly increase, as received, and every so often any number.
static uint16_t random_burst(
	uint64_t seq[], const struct model *m, enum range range, uint64_t *seed)
{
	uint16_t n = (uint16_t)(1 + random_below(seed, BURST));

	for (uint16_t i = 0; i < n; i++)
		seq[i] = i == 0 || random_below(seed, 8) == 0
				 ? random_seq(m, range, seed)
				 : seq[i - 1] + random_below(seed, 4) * random_below(seed, 2);
	return n;
}

// All numbers of a burst are guessed before the first of them moves the window.
static void run_model_bursts(uint32_t size, enum range range, uint64_t first, uint64_t *seed)
{
	static struct model m;
	struct replay r;

	model_init(&m, size, RUN_STEPS);
	model_commit(&m, first);
	assert_int_equal(replay_init(&r, size), 0);
	assert_true(replay_commit(&r, first));
	for (unsigned int i = 0; i < RUN_STEPS / BURST; i++) {
		uint64_t seq[BURST];
		bool accepted[BURST];
		uint16_t n = random_burst(seq, &m, range, seed);

		for (uint16_t k = 0; k < n && range == FAR; k++) {
			seq[k] = model_guess(&m, (uint32_t)seq[k]);
			assert_int_equal(replay_guess_seq(&r, (uint32_t)seq[k]), seq[k]);
		}
		replay_commit_burst(&r, seq, accepted, n);
		for (uint16_t k = 0; k < n; k++) {
			bool expected = model_check(&m, seq[k]);

			if (accepted[k] != expected)
				fail_msg("window %u, burst %u: %lu with top %lu", size, i, seq[k],
					m.top);
			if (expected)
				model_commit(&m, seq[k]);
		}
	}
	replay_fini(&r, NULL);
}

static void test_model_bursts(void **state)
{
	uint64_t seed = 21;
	unsigned long runs = rounds(5);

	(void)state;
	for (unsigned long i = 0; i < runs; i++)
		for (size_t s = 0; s < COUNT_OF(sizes); s++)
			run_model_bursts(sizes[s], i % 2 == 0 ? NEAR : FAR,
				i % 3 == 0 ? 1 : UINT32_MAX, &seed);
}

static void test_no_window(void **state)
{
	struct replay r;

	(void)state;
	assert_int_equal(replay_init(&r, 0), 0);
	for (unsigned int i = 0; i < 3; i++) {
		bool accepted = false;

		assert_true(replay_check(&r, 7));
		assert_true(replay_commit(&r, 7));
		assert_int_equal(replay_commit_one(&r, 7, &accepted), 0);
		assert_true(accepted);
	}
	replay_fini(&r, NULL);
}

// The numbers of RFC 4303 3.4.3, one by one.
static void test_edges(void **state)
{
	struct replay r;

	(void)state;
	assert_int_equal(replay_init(&r, 64), 0);
	assert_false(replay_check(&r, 0)); // the first number is 1 (RFC 4303 2.2)
	assert_false(replay_commit(&r, 0));
	assert_true(replay_commit(&r, 1));
	assert_false(replay_commit(&r, 1));
	assert_true(replay_commit(&r, 100));
	assert_false(replay_commit(&r, 36)); // 100 - 64
	assert_true(replay_commit(&r, 37));
	assert_false(replay_check(&r, 37));
	assert_true(replay_check(&r, UINT32_MAX));
	assert_true(replay_commit(&r, UINT32_MAX));
	assert_false(replay_commit(&r, 100));
	assert_false(replay_commit(&r, UINT32_MAX));
	assert_true(replay_commit(&r, UINT32_MAX - 63));
	assert_false(replay_commit(&r, UINT32_MAX - 64));
	replay_fini(&r, NULL);
}

// Threads

#define THREADS 4

struct race {
	struct replay replay;
	uint32_t numbers;
	uint32_t block; // numbers come out of order within blocks of this size
	_Atomic uint32_t *accepted;
	pthread_barrier_t start;
};

struct racer {
	struct race *race;
	uint64_t seed;
};

// Every thread offers all numbers, each in its own order.
static void *racer_run(void *arg)
{
	struct racer *me = arg;
	struct race *race = me->race;

	pthread_barrier_wait(&race->start);
	for (uint32_t base = 0; base < race->numbers; base += race->block) {
		uint32_t turn = random_below(&me->seed, race->block);

		for (uint32_t i = 0; i < race->block; i++) {
			uint64_t seq[2] = {base + (i ^ turn) + 1, base + (i ^ turn) + 2};
			uint16_t n = 1 + (seq[1] <= base + race->block); // alone, or as a burst
			bool accepted[2];

			if (n == 1)
				replay_commit_one(&race->replay, seq[0], accepted);
			else
				replay_commit_burst(&race->replay, seq, accepted, n);
			for (uint16_t k = 0; k < n; k++)
				atomic_fetch_add(&race->accepted[seq[k]], accepted[k]);
		}
	}
	return NULL;
}

// No number leaves the window before some thread has offered it, so each is accepted, once.
static void run_race(uint32_t size, uint32_t block)
{
	struct race race = {.numbers = (uint32_t)rounds(1 << 16), .block = block};
	struct racer racer[THREADS];
	pthread_t thread[THREADS];

	race.accepted = calloc(race.numbers + 1, sizeof(race.accepted[0]));
	assert_non_null(race.accepted);
	assert_int_equal(replay_init(&race.replay, size), 0);
	assert_int_equal(pthread_barrier_init(&race.start, NULL, THREADS), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		racer[i] = (struct racer){&race, i + 1};
		assert_int_equal(pthread_create(&thread[i], NULL, racer_run, &racer[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(race.accepted[0], 0);
	for (uint32_t seq = 1; seq <= race.numbers; seq++)
		if (race.accepted[seq] != 1)
			fail_msg("window %u: %u accepted %u times", size, seq, race.accepted[seq]);
	pthread_barrier_destroy(&race.start);
	replay_fini(&race.replay, NULL);
	free(race.accepted);
}

static void test_threads(void **state)
{
	(void)state;
	run_race(32, 16);
	run_race(64, 1);
	run_race(128, 64);
	run_race(1024, 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_no_window),
		cmocka_unit_test(test_guess),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_slot_left_out),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_model_bursts),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
