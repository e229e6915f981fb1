// SPDX-License-Identifier: BSD-3-Clause
// Replay windows that continue those of an earlier process: in the same memory, or after a number.
#include <errno.h>
#include <unistd.h>

#include "replay.h"
#include "replay_memory.h"
#include "test.h"

#define NUMBERS (1 << 18)

static char dir[] = "/tmp/culvert-replay.XXXXXX";
static char path[sizeof(dir) + 16];

static const struct key_id id_a = {{1, 2, 3}}, id_b = {{1, 2, 4}}, id_none = {{9}};

static int make_dir(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/windows", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

// One process after the other has the window; each ends at an arbitrary moment, and gets from the
// one before a bound that is a little too high.
static void run_restarts(uint32_t size, uint64_t base, uint64_t *seed)
{
	static bool accepted[NUMBERS];
	struct replay_memory *memory = replay_memory_new(path, "first"), *before;
	uint64_t top = base;
	struct replay r;

	memset(accepted, 0, sizeof(accepted));
	assert_non_null(memory);
	assert_int_equal(replay_init(&r, size), 0);
	assert_int_equal(replay_keep_in(&r, memory, &id_a), 0);
	if (base > 0) // no packet advances it that far
		replay_start_behind(&r, base);
	for (uint32_t next = 4 * size; next < NUMBERS; next += random_below(seed, 3)) {
		uint64_t number =
			next - random_below(seed, random_below(seed, 2) == 0 ? 4 : size + 9);
		bool in_window = base + number + size > top;
		bool right = in_window && !accepted[number];

		if (replay_check(&r, base + number) != right)
			fail_msg("window %u: check(%lu) with top %lu", size, base + number, top);
		assert_int_equal(replay_commit(&r, base + number), right);
		accepted[number] |= right;
		if (right && base + number > top)
			top = base + number;
		if (random_below(seed, 4000) != 0)
			continue;
		replay_memory_free(memory); // as after a kill: the file stays

		uint32_t words;

		before = replay_memory_open(path, "first");
		assert_non_null(before);
		memory = replay_memory_new(path, "first");
		assert_non_null(memory);
		assert_int_equal(replay_init(&r, size), 0);
		assert_int_equal(replay_keep_in(&r, memory, &id_a), 0);

		const _Atomic uint64_t *window = replay_memory_find(before, &id_a, &words);

		assert_non_null(window);
		replay_take_over(&r, window, words, top + random_below(seed, 1 << 20));
		replay_memory_free(before);
		assert_int_equal(replay_top(&r), top);
	}
	replay_fini(&r, memory);
	replay_memory_free(memory);
}

static void test_same_memory(void **state)
{
	static const uint64_t bases[] = {0, UINT32_MAX - NUMBERS / 2,
		(UINT64_C(1) << 37) - NUMBERS / 2, (UINT64_C(1) << 50) + 12345};
	uint64_t seed = 7;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bases); i++) {
		run_restarts(32, bases[i], &seed);
		run_restarts(64, bases[i], &seed);
		run_restarts(1024, bases[i], &seed);
	}
}

// After a number, only numbers above it are new.
static void test_start_behind(void **state)
{
	static const uint64_t numbers[] = {1, 31, 32, 63, 64, 1000, UINT32_MAX, UINT64_C(1) << 36,
		(UINT64_C(1) << 37) + 5, UINT64_C(1) << 60};
	static const uint32_t sizes[] = {32, 64, 65536};
	struct replay r;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		for (size_t s = 0; s < COUNT_OF(sizes); s++) {
			uint64_t n = numbers[i];

			assert_int_equal(replay_init(&r, sizes[s]), 0);
			replay_start_behind(&r, n);
			assert_int_equal(replay_top(&r), n);
			for (uint64_t back = 0; back < 3 * sizes[s] && back < n; back++)
				assert_false(replay_commit(&r, n - back));
			for (uint64_t on = 1; on < 3 * sizes[s]; on++) {
				assert_true(replay_commit(&r, n + on));
				assert_false(replay_commit(&r, n + on));
			}
			replay_fini(&r, NULL);
		}
}

// The last call counts: an SA that is added again gets the number on the disk first, then the exact
// one.
static void test_start_behind_less(void **state)
{
	struct replay r;

	(void)state;
	assert_int_equal(replay_init(&r, 64), 0);
	replay_start_behind(&r, 78);
	replay_start_behind(&r, 62);
	for (uint64_t n = 63; n < 200; n++) {
		assert_true(replay_commit(&r, n));
		assert_false(replay_commit(&r, n));
	}
	replay_fini(&r, NULL);
}

// A window of another size continues after the highest number of the one before.
static void test_other_size(void **state)
{
	struct replay small, r;

	(void)state;
	assert_int_equal(replay_init(&small, 64), 0);
	assert_true(replay_commit(&small, 500));
	assert_true(replay_commit(&small, 497));
	assert_int_equal(replay_init(&r, 1024), 0);
	replay_take_over(&r, (const _Atomic uint64_t *)small.ring, replay_words(&small), 600);
	replay_fini(&small, NULL);
	assert_int_equal(replay_top(&r), 500);
	assert_false(replay_commit(&r, 500));
	assert_false(replay_commit(&r, 499)); // may have been accepted
	assert_true(replay_commit(&r, 501));
	replay_fini(&r, NULL);

	const _Atomic uint64_t empty[5] = {0};

	assert_int_equal(replay_init(&r, 64), 0);
	replay_take_over(&r, empty, 5, 700);
	assert_true(replay_commit(&r, 1));
	replay_fini(&r, NULL);
}

// Windows of earlier versions have no end.
static void test_memory_without_an_end(void **state)
{
	struct replay before, r;

	(void)state;
	assert_int_equal(replay_init(&before, 64), 0);
	for (uint64_t n = 1; n <= 200; n += 2)
		assert_true(replay_commit(&before, n));

	const uint32_t slots = before.slot_mask + 1;
	_Atomic uint64_t words[8] = {before.ring->top};

	assert_true(1 + slots <= COUNT_OF(words));
	for (uint32_t i = 0; i < slots; i++)
		words[1 + i] = before.ring->slot[i];
	assert_int_equal(replay_init(&r, 64), 0);
	replay_take_over(&r, words, 1 + slots, 300);
	assert_int_equal(replay_top(&r), 199);
	for (uint64_t n = 136; n <= 199; n++)
		assert_int_equal(replay_check(&r, n), n % 2 == 0);
	assert_int_equal(replay_end(&r), UINT64_MAX);
	assert_int_equal(r.ring->not_end, 0); // no slot of a window for earlier versions
	replay_fini(&before, NULL);
	replay_fini(&r, NULL);
}

static void test_memory(void **state)
{
	struct replay_memory *m = replay_memory_new(path, "here");
	_Atomic uint64_t *a, *b;
	uint32_t words;

	(void)state;
	assert_non_null(m);
	a = replay_memory_take(m, &id_a, 4);
	b = replay_memory_take(m, &id_b, 2048);
	assert_non_null(a);
	assert_non_null(b);
	a[3] = 33;
	b[2047] = 44;
	replay_memory_give(m, a);
	assert_ptr_equal(
		replay_memory_take(m, &id_a, 4), a); // the memory is allocated again, empty
	assert_int_equal(a[3], 0);
	a[1] = 55;
	replay_memory_turn_set(m, 1234567890123);
	replay_memory_keep(m);
	replay_memory_give(m, a); // as at a normal stop: the window stays
	replay_memory_free(m);

	assert_int_equal(replay_memory_turn_of(path), 1234567890123);
	assert_int_equal(replay_memory_turn_of("/nonexistent/windows"), 0);
	assert_null(replay_memory_open(path, "there"));
	assert_int_equal(errno, ESTALE);
	m = replay_memory_open(path, "here");
	assert_non_null(m);
	assert_int_equal(replay_memory_find(m, &id_a, &words)[1], 55);
	assert_int_equal(words, 4);
	assert_int_equal(replay_memory_find(m, &id_b, &words)[2047], 44);
	assert_int_equal(words, 2048);
	assert_null(replay_memory_find(m, &id_none, &words));
	replay_memory_free(m);

	unlink(path);
	assert_null(replay_memory_open(path, "here"));
	assert_int_equal(errno, ENOENT);
	assert_null(replay_memory_new("/nonexistent/windows", "here"));
	assert_int_equal(errno, ENOENT);

	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (unsigned int i = 0; i < 10000; i++)
		fputc('x', f);
	fclose(f);
	assert_null(replay_memory_open(path, "here"));
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(truncate(path, 10), 0);
	assert_null(replay_memory_open(path, "here"));
	assert_int_equal(errno, EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_behind),
		cmocka_unit_test(test_start_behind_less),
		cmocka_unit_test(test_same_memory),
		cmocka_unit_test(test_other_size),
		cmocka_unit_test(test_memory_without_an_end),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
