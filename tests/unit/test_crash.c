// SPDX-License-Identifier: BSD-3-Clause
// A process that crashes leaves a line with the place, and a core without keys: a child strips its
// memory as the handler of a crash does, and reads which mappings a core would have.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"
#include "crash.h"
#include "test.h"

#define PAGE   4096u
#define SECRET 0x5ec12e7b

static volatile unsigned int variable = SECRET; // data of the program, which every core has
static char maps[1 << 20];                      // /proc/self/smaps

// Whether a core has the mapping of an address; without memory of the C library.
static bool is_dumped(uintptr_t at)
{
	int fd = open("/proc/self/smaps", O_RDONLY);
	size_t len = 0;
	ssize_t got;
	bool here = false;

	while ((got = read(fd, maps + len, sizeof(maps) - 1 - len)) > 0)
		len += (size_t)got;
	close(fd);
	maps[len] = 0;
	for (char *line = maps, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		unsigned long start, stop;

		*end = 0;
		if (sscanf(line, "%lx-%lx ", &start, &stop) == 2)
			here = start <= at && at < stop;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			return strstr(line, " dd") == NULL;
	}
	return false;
}

static unsigned char *pages_new(unsigned int n)
{
	unsigned char *at =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(99);
	return memset(at, 0xaa, n * PAGE);
}

static bool all_are(const unsigned char *at, size_t n, unsigned char value)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] != value)
			return false;
	return true;
}

// The number of the first thing that is not as it must be; 0: none.
static int strips(void)
{
	unsigned char *kept = pages_new(3), *other = pages_new(1);
	uintptr_t start = (uintptr_t)kept + PAGE + 100, end = start + 50;

	// Functions of the C library need whole pages around the thread's own block, which may be
	// beside the kept list of libraries.
	uintptr_t block = (uintptr_t)__builtin_thread_pointer() & ~(uintptr_t)(PAGE - 1);

	if (core_start() != 0 || !core_keep(block - 4 * PAGE, block + 4 * PAGE) ||
		!core_keep(start, end) || !core_strip())
		return 1;
	if (!is_dumped(start) || !is_dumped((uintptr_t)&variable) || variable != SECRET)
		return 2;
	if (is_dumped(start - PAGE) || is_dumped(start + PAGE) || is_dumped((uintptr_t)other))
		return 3;
	if (!all_are(kept + PAGE, 100, 0) || !all_are(kept + PAGE + 100, 50, 0xaa) ||
		!all_are(kept + PAGE + 150, PAGE - 150, 0))
		return 4;
	return is_dumped((uintptr_t)__builtin_frame_address(0)) ? 5 : 0;
}

static void test_a_core_has_only_what_is_kept(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(strips());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_too_many_parts_are_refused(void **state)
{
	unsigned int n = 0;

	(void)state;
	while (n < 100000 && core_keep(PAGE, 2 * PAGE))
		n++;
	assert_in_range(n, 1024, 99999);
}

static void crash_child(int signal, int log)
{
	const struct rlimit none = {0};

	setrlimit(RLIMIT_CORE, &none);
	dup2(log, STDERR_FILENO);
	crash_start();
	raise(signal);
	_exit(98);
}

static void test_a_crash_is_reported(void **state)
{
	static const int signals[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGQUIT};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(signals); i++) {
		char line[512] = "", starts[64];
		int status, fd[2];
		pid_t child;

		assert_int_equal(pipe(fd), 0);
		child = fork();
		if (child == 0)
			crash_child(signals[i], fd[1]);
		close(fd[1]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(read(fd[0], line, sizeof(line) - 1) > 0);
		close(fd[0]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		snprintf(starts, sizeof(starts),
			"culvertd: crashed: SIG%s in thread \"test_crash\" at ",
			sigabbrev_np(signals[i]));
		assert_memory_equal(line, starts, strlen(starts));
		assert_non_null(strstr(line, "+0x"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_crash_is_reported),
		cmocka_unit_test(test_a_core_has_only_what_is_kept),
		cmocka_unit_test(test_too_many_parts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
