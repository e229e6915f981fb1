// SPDX-License-Identifier: BSD-3-Clause
// The mode of a Unix socket, and existing files at its path.
#include "unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

static char folder[] = "/tmp/culvert-test-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static struct sockaddr_un path_of(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", folder, name);
	return addr;
}

static mode_t mode_of(const struct sockaddr_un *addr)
{
	struct stat st;

	assert_int_equal(lstat(addr->sun_path, &st), 0);
	return st.st_mode & 07777;
}

static void test_mode(void **state)
{
	static const mode_t modes[] = {0600, 0660, 0666}, umasks[] = {0, 022, 077};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(modes); i++)
		for (unsigned int k = 0; k < COUNT_OF(umasks); k++) {
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);
			struct sockaddr_un addr = path_of("socket");

			umask(umasks[k]);
			assert_int_equal(unix_socket_bind(fd, &addr, modes[i]), 0);
			assert_int_equal(mode_of(&addr), modes[i]);
			assert_int_equal(umask(022), umasks[k]);
			unlink(addr.sun_path);
			close(fd);
		}
}

// An attacker has put a link to another file at the path: that file keeps its mode.
static void test_link(void **state)
{
	struct sockaddr_un addr = path_of("socket"), target = path_of("file");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	close(open(target.sun_path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(symlink(target.sun_path, addr.sun_path), 0);
	assert_int_equal(unix_socket_bind(fd, &addr, 0666), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(mode_of(&target), 0600);
	unlink(addr.sun_path);
	unlink(target.sun_path);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_link),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
