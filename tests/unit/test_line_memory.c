// SPDX-License-Identifier: BSD-3-Clause
// line_calloc(): objects of every size are apart, zeroed, and used again once they are freed.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>

#include "huge_pages.h"
#include "line_memory.h"
#include "test.h"

#define LINE    RTE_CACHE_LINE_SIZE
#define LARGEST (HUGE_PAGE / 8) // of the objects that share pages
#define MANY    10000

static bool is_zero(const uint8_t *p, size_t size)
{
	return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

static uint8_t *take(size_t size)
{
	uint8_t *p = line_calloc(1, size);

	assert_non_null(p);
	assert_int_equal((uintptr_t)p % LINE, 0);
	assert_true(is_zero(p, size));
	return p;
}

// Sizes around every class: each object is written as a whole, and no write reaches another one.
static void test_sizes(void **state)
{
	static uint8_t *at[3 * 64];
	static size_t size[RTE_DIM(at)];
	unsigned int n = 0;

	(void)state;
	for (size_t step = LINE; step <= 4 * HUGE_PAGE; step += step < 1024 ? LINE : step / 4)
		for (size_t s = step - 1; s <= step + 1; s++) {
			assert_true(n < RTE_DIM(at));
			size[n] = s;
			at[n] = take(s);
			memset(at[n], (int)n + 1, s);
			n++;
		}
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(at[i][0], (uint8_t)(i + 1));
		assert_int_equal(memcmp(at[i], at[i] + 1, size[i] - 1), 0);
		line_free(at[i]);
	}
	line_free(NULL);
}

static void test_empty(void **state)
{
	void *p = line_calloc(0, LINE);

	(void)state;
	assert_non_null(p);
	line_free(p);
}

static void test_overflow(void **state)
{
	(void)state;
	assert_null(line_calloc(SIZE_MAX / 2, 4));
	assert_int_equal(errno, ENOMEM);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // its own allocator is used

// Whether both are in the same huge page.
static bool is_near(const void *a, const void *b)
{
	return (uintptr_t)a / HUGE_PAGE == (uintptr_t)b / HUGE_PAGE;
}

// Many small objects need few huge pages, and as many again none.
static void test_shared(void **state)
{
	static uint8_t *at[MANY], *again[MANY];
	unsigned int pages = 1;

	(void)state;
	for (unsigned int i = 0; i < MANY; i++) {
		at[i] = take(600);
		pages += i > 0 && !is_near(at[i], at[i - 1]);
		memset(at[i], 0xff, 600);
	}
	assert_in_range(pages, 3, 5); // of 640 octets and their description
	for (unsigned int i = 0; i < MANY; i++)
		line_free(at[i]);
	for (unsigned int i = 0; i < MANY; i++)
		again[i] = take(600);
	for (unsigned int i = 0; i < MANY; i++)
		assert_ptr_equal(again[i], at[MANY - 1 - i]);
	for (unsigned int i = 0; i < MANY; i++)
		line_free(again[i]);
}

// The content of an object is gone as soon as it is freed, but for words that the allocator writes
// there.
static void test_wiped(void **state)
{
	static const size_t sizes[] = {LINE, 600, 4096, LARGEST};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(sizes); i++) {
		uint8_t *p = take(sizes[i]);

		memset(p, 0x5a, sizes[i]);
		line_free(p);
		assert_true(is_zero(p + sizeof(void *), sizes[i] - sizeof(void *)));
	}
}

// A large object has pages of its own, which are given back when it is freed.
static void test_large(void **state)
{
	uint8_t *p = take(LARGEST + 1), *page = RTE_PTR_ALIGN_FLOOR(p, HUGE_PAGE);

	(void)state;
	line_free(p);
	assert_int_equal(msync(page, HUGE_PAGE, MS_ASYNC), -1);
	assert_int_equal(errno, ENOMEM);
}

// Ends a child: its memory would be used twice.
static void test_freed_twice(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		void *p = take(600);

		line_free(p);
		line_free(p);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

#endif

static void test_map(void **state)
{
	uint8_t *p = huge_pages_map(3 * HUGE_PAGE);

	(void)state;
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % HUGE_PAGE, 0);
	assert_true(is_zero(p, 3 * HUGE_PAGE));
	memset(p, 1, 3 * HUGE_PAGE);
	assert_int_equal(munmap(p, 3 * HUGE_PAGE), 0);
	assert_null(huge_pages_map((size_t)1 << 60));
	assert_int_equal(errno, ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_overflow),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_wiped),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_freed_twice),
#endif
		cmocka_unit_test(test_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
