// SPDX-License-Identifier: BSD-3-Clause
// Existing files at the path of the metrics' Unix socket. Proves that only a socket without a
// listener is replaced.
#include "metrics_listen.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char folder[] = "/tmp/culvert-test-XXXXXX", path[64];
static struct conf conf = {.metrics_socket = path, .metrics_mode = CONF_MODE_0600};
static struct metrics_address address;

static int begin(void **state)
{
	(void)state;
	strcpy(strrchr(folder, '-'), "-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/metrics", folder);
	address = metrics_address_unix(&conf);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static int listen_now(void)
{
	char why[512];

	return metrics_listen(&address, &conf, why, sizeof(why));
}

static void expect_in_use(void)
{
	char why[512];

	assert_int_equal(metrics_listen(&address, &conf, why, sizeof(why)), -1);
	assert_string_equal(why, "Address already in use");
}

static mode_t type(void)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & S_IFMT;
}

static void test_file(void **state)
{
	char octets[8];
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "kept", 4), 4);
	expect_in_use();
	assert_int_equal(type(), S_IFREG);
	assert_int_equal(pread(fd, octets, sizeof(octets), 0), 4);
	assert_memory_equal(octets, "kept", 4);
	close(fd);
}

static void test_link(void **state)
{
	(void)state;
	assert_int_equal(symlink("/nonexistent", path), 0);
	expect_in_use();
	assert_int_equal(type(), S_IFLNK);
}

static void test_socket(void **state)
{
	int fd = listen_now();

	(void)state;
	assert_in_range(fd, 0, 1023);
	expect_in_use(); // of a process that listens
	close(fd);
	fd = listen_now();
	assert_in_range(fd, 0, 1023);
	assert_int_equal(type(), S_IFSOCK);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, begin, end),
		cmocka_unit_test_setup_teardown(test_link, begin, end),
		cmocka_unit_test_setup_teardown(test_socket, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
