// SPDX-License-Identifier: BSD-3-Clause
// Events as subscribers receive them, and a subscriber of the control socket that does not read.
#include "event_log.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_socket.h"
#include "log.h"
#include "test.h"

static void post_links(unsigned int n)
{
	char port[16];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(port, sizeof(port), "p%u", i);
		event_post(LINK_DOWN, EVENT_TEXT(port));
	}
}

// The text after the date.
static const char *undated(const char *line)
{
	assert_memory_equal(line, "time=20", 7);
	return strchr(line, '\t') + 1;
}

static void test_line(void **state)
{
	uint64_t position = event_log_end();
	char line[EVENT_LINE_MAX];

	(void)state;
	assert_false(event_log_read(&position, line));
	event_post(PEER_MOVED, EVENT_TEXT("to-b"), EVENT_TEXT("any"), EVENT_TEXT("192.0.2.1:4500"));
	assert_true(event_log_read(&position, line));
	assert_string_equal(undated(line),
		"event=peer_moved\tseverity=info\tsa=to-b\tfrom=any\tto=192.0.2.1:4500");
	event_post(BUFFERS_SHORT, EVENT_NUMBER(7), EVENT_NUMBER(UINT64_MAX));
	assert_true(event_log_read(&position, line));
	assert_string_equal(undated(line),
		"event=buffers_short\tseverity=warning\tfree=7\tsize=18446744073709551615");
	assert_false(event_log_read(&position, line));
}

// An event is one line, and a value ends where the next field begins.
static void test_long_and_broken_values(void **state)
{
	static char text[2 * EVENT_LINE_MAX];
	uint64_t position = event_log_end();
	char line[EVENT_LINE_MAX];

	(void)state;
	event_post(RELOAD_REFUSED, EVENT_TEXT("a.conf:1: a\tb\na.conf:2: c\n"));
	assert_true(event_log_read(&position, line));
	assert_string_equal(undated(line),
		"event=reload_refused\tseverity=error\treason=a.conf:1: a b a.conf:2: c");
	memset(text, 'x', sizeof(text) - 1);
	event_post(RELOAD_REFUSED, EVENT_TEXT(text));
	assert_true(event_log_read(&position, line));
	assert_int_equal(strlen(line), EVENT_LINE_MAX - 1);
}

static void test_late_reader(void **state)
{
	uint64_t position = event_log_end();
	char line[EVENT_LINE_MAX];

	(void)state;
	post_links(EVENTS_KEPT + 3);
	assert_true(event_log_read(&position, line));
	assert_string_equal(undated(line), "event=lost\tseverity=warning\tlost=3");
	for (unsigned int i = 3; i < EVENTS_KEPT + 3; i++) {
		char expected[64];

		snprintf(expected, sizeof(expected), "event=link_down\tseverity=warning\tport=p%u",
			i);
		assert_true(event_log_read(&position, line));
		assert_string_equal(undated(line), expected);
	}
	assert_false(event_log_read(&position, line));
}

// --- the control socket ---

static struct control_socket server;
static struct sockaddr_un address;
static socklen_t address_len = sizeof(address);

static void serve(const char *answer)
{
	struct control_request r;

	for (unsigned int i = 0; i < 4; i++)
		control_socket_tick(&server, i);
	if (!control_socket_take(&server, &r, NULL))
		return;
	free(r.text);
	if (!control_socket_subscribe(&server, &r, answer))
		control_socket_answer(&server, &r, "refused", "", 4);
	for (unsigned int i = 0; i < 4; i++)
		control_socket_tick(&server, 4);
}

static int subscriber(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, address_len), 0);
	assert_int_equal(send(fd, "subscribe", 9, 0), 9);
	serve("events 0\n");
	return fd;
}

static bool read_one(int fd, char line[EVENT_LINE_MAX])
{
	ssize_t len = recv(fd, line, EVENT_LINE_MAX, 0);

	line[len > 0 ? len : 0] = '\0';
	return len > 0;
}

static int listen_begin(void **state)
{
	(void)state;
	server = (struct control_socket){.group = (gid_t)-1};
	server.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	address.sun_family = AF_UNIX; // an abstract name, which the kernel chooses
	return bind(server.fd, (struct sockaddr *)&address, sizeof(sa_family_t)) |
	       listen(server.fd, CONTROL_CLIENTS_MAX) |
	       getsockname(server.fd, (struct sockaddr *)&address, &address_len);
}

static int listen_end(void **state)
{
	(void)state;
	control_socket_close(&server);
	return 0;
}

// All events are numbered: those read and those lost are all events.
static void test_deaf_subscriber(void **state)
{
	const unsigned int n = 20 * EVENTS_KEPT;
	int deaf = subscriber(), other = subscriber();
	unsigned int got = 0, lost = 0, others = 0;
	char line[EVENT_LINE_MAX];

	(void)state;
	assert_true(read_one(deaf, line));
	assert_string_equal(line, "events 0\n");
	assert_true(read_one(other, line));
	for (unsigned int i = 0; i < n; i++) {
		post_links(1);
		control_socket_tick(&server, 1000000 + i); // no deadline ends it
		others += read_one(other, line);
	}
	assert_int_equal(others, n);
	do {
		while (read_one(deaf, line)) {
			const char *at = strstr(line, "\tlost=");

			got += at == NULL;
			lost += at == NULL ? 0 : (unsigned int)atoi(at + 6);
		}
		control_socket_tick(&server, 3000000);
	} while (poll(&(struct pollfd){.fd = deaf, .events = POLLIN}, 1, 0) > 0);
	assert_true(lost > 0);
	assert_int_equal(got + lost, n);
	close(deaf);
	close(other);
}

static void test_too_many(void **state)
{
	int fd[CONTROL_SUBSCRIBERS_MAX + 1];
	char line[EVENT_LINE_MAX];

	(void)state;
	for (unsigned int i = 0; i <= CONTROL_SUBSCRIBERS_MAX; i++) {
		fd[i] = subscriber();
		assert_true(read_one(fd[i], line));
		assert_string_equal(
			line, i < CONTROL_SUBSCRIBERS_MAX ? "events 0\n" : "refused 0\n");
	}
	close(fd[0]);
	control_socket_tick(&server, 5);
	close(fd[CONTROL_SUBSCRIBERS_MAX]);
	fd[0] = subscriber();
	assert_true(read_one(fd[0], line));
	assert_string_equal(line, "events 0\n");
	for (unsigned int i = 0; i < CONTROL_SUBSCRIBERS_MAX; i++)
		close(fd[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_long_and_broken_values),
		cmocka_unit_test(test_late_reader),
		cmocka_unit_test_setup_teardown(test_deaf_subscriber, listen_begin, listen_end),
		cmocka_unit_test_setup_teardown(test_too_many, listen_begin, listen_end),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
