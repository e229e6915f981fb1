// SPDX-License-Identifier: BSD-3-Clause
// memory_lock(), with a limit set by the test.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "memory_lock.h"
#include "test.h"

#define LARGE (64u << 20) // so large that malloc() maps it

static rlim_t limit;

// Replaces the C library's.
int getrlimit(__rlimit_resource_t resource, struct rlimit *to)
{
	assert_int_equal(resource, RLIMIT_MEMLOCK);
	*to = (struct rlimit){limit, limit};
	return 0;
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *to)
{
	(void)resource;
	(void)to;
	return -1;
}

// A number of kilobytes from /proc/self/status.
static unsigned long status_kb(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kb = 0;
	char line[256];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			kb = strtoul(line + strlen(name) + 1, NULL, 10);
	fclose(f);
	return kb;
}

static void test_limited(void **state)
{
	(void)state;
	limit = LARGE;
	assert_int_equal(memory_lock(), -EPERM);
	assert_int_equal(status_kb("VmLck"), 0);
}

// AddressSanitizer replaces mlockall() by a function that does nothing.
#ifndef __SANITIZE_ADDRESS__
static void test_unlimited(void **state)
{
	unsigned long resident;
	char *memory;
	int rc;

	(void)state;
	limit = RLIM_INFINITY;
	rc = memory_lock();
	if (rc != 0 && geteuid() != 0)
		skip();
	assert_int_equal(rc, 0);
	resident = status_kb("VmRSS");
	// Not from malloc(), which fills its memory if MALLOC_PERTURB_ is set.
	memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memory[LARGE / 2] = 1;
	assert_true(status_kb("VmLck") >= LARGE / 1024);
	assert_true(
		status_kb("VmRSS") - resident < LARGE / 1024 / 2); // unused pages are not resident
	assert_int_equal(munmap(memory, LARGE), 0);
	assert_int_equal(munlockall(), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limited),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_unlimited),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
