// SPDX-License-Identifier: BSD-3-Clause
// A socket that a device connects to is used only when a process listens: one that is bound refuses
// connections until then. The process does not notice the question.
#include "device_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

static char folder[] = "/tmp/culvert-test-XXXXXX";

// A socket as a process has it that is about to listen. Its name in /proc/net/unix begins with '@'
// if it is abstract.
static int bound(struct sockaddr_un *addr, const char *name, int type)
{
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(addr->sun_path, name, strlen(name));
	if (name[0] == '@')
		addr->sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)addr, len), 0);
	return fd;
}

static void used_when_it_listens(const char *name, int type)
{
	struct sockaddr_un addr;
	int fd;

	assert_false(device_socket_is_used(name));
	fd = bound(&addr, name, type);
	assert_false(device_socket_is_used(name));
	assert_int_equal(listen(fd, 1), 0);
	assert_true(device_socket_is_used(name));
	assert_int_equal(accept(fd, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
	assert_false(device_socket_is_used(name));
	if (name[0] != '@')
		unlink(name);
}

static void test_used(void **state)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET}; // vhost, memif
	char path[sizeof(folder) + 16], name[sizeof(path) + 1];

	(void)state;
	snprintf(path, sizeof(path), "%s/socket", folder);
	snprintf(name, sizeof(name), "@%s", path);
	for (unsigned int i = 0; i < 2; i++) {
		used_when_it_listens(path, types[i]);
		used_when_it_listens(name, types[i]);
	}
}

// The kernel lists the ends of accepted connections under the same name, before the one that
// listens.
static void test_used_by_others(void **state)
{
	char name[sizeof(folder) + 16];
	struct sockaddr_un addr;
	int fd, other, accepted;

	(void)state;
	snprintf(name, sizeof(name), "@%s/shared", folder);
	fd = bound(&addr, name, SOCK_SEQPACKET);
	other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(
		connect(other, (struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
		0);
	accepted = accept(fd, NULL, NULL);
	assert_true(accepted >= 0);
	assert_true(device_socket_is_used(name));
	close(fd);
	assert_false(device_socket_is_used(name));
	close(accepted);
	close(other);
}

// Nothing else removes the socket of a process that is about to listen.
static void test_bound_stays(void **state)
{
	struct conf_port port = {.name = "wan"};
	struct sockaddr_un addr;
	char path[sizeof(folder) + 16], device[2 * DEVICE_SOCKET_SIZE];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/socket", folder);
	snprintf(device, sizeof(device), "net_virtio_user0,server=1,path=%s", path);
	port.device = device;
	fd = bound(&addr, path, SOCK_STREAM);
	assert_int_equal(device_socket_prepare(&port), -EIO);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	assert_int_equal(device_socket_prepare(&port), 0); // nobody's
	assert_int_equal(access(path, F_OK), -1);
}

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

// Without the argument drivers have one queue.
static void test_queues(void **state)
{
	(void)state;
	assert_int_equal(device_queues("net_af_packet0,iface=wan"), 1);
	assert_int_equal(device_queues("net_af_packet0,iface=wan,qpairs=3"), 3);
	assert_int_equal(device_queues("net_vhost0,iface=/run/vm.sock"), 1);
	assert_int_equal(device_queues("net_vhost0,iface=/run/vm.sock,queues=4"), 4);
	assert_int_equal(device_queues("net_virtio_user0,path=/run/vm.sock,queues=2"), 2);
	assert_int_equal(device_queues("net_memif0,role=client"), UINT16_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_used_by_others),
		cmocka_unit_test(test_bound_stays),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
