// SPDX-License-Identifier: BSD-3-Clause
// Clients of the control socket that do anything in any order: the input is a list of steps. Proves
// that every request that was sent completely is served once, in order, and that a client that
// waits receives its complete answer.
#include "control_socket.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>

#include "event_log.h"
#include "fuzz.h"
#include "harness.h"
#include "log.h"
#include "test.h"

#define CLIENTS 12   // more than there are slots
#define MEMBERS 4242 // group of users of the socket, beside root

enum step {
	CONNECT, // WHO
	SEND,    // OCTETS
	SEND_LARGE,
	CLOSE,
	READ,
	WAIT_MS,
	TAKE, // 0: a request; 1: a request and a subscription to events; else: that many events
	      // happen
	ANSWER,
	STEPS
};

static const struct control_access access_of = {"control", "control_group", true};
static struct control_socket opened;
static bool has_others; // clients can be other users
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void stop(void)
{
	control_socket_close(&opened);
	unlink(address.sun_path);
	rmdir(rte_eal_get_runtime_dir());
	harness_stop(NULL);
}

// The tests' EAL has removed its folder.
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct conf conf = {0};

	(void)argc;
	(void)argv;
	log_set_level(LOG_LEVEL_ERROR);
	if (harness_start(NULL) < 0 || mkdir(rte_eal_get_runtime_dir(), 0700) < 0)
		return -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", rte_eal_get_runtime_dir(),
		access_of.file);
	atexit(stop);
	if (control_socket_open(&opened, &conf, &access_of, (gid_t)-1) < 0)
		return -1;
	opened.group = MEMBERS;
	has_others = geteuid() == 0 && setgroups(0, NULL) == 0;
	// Connects, if the client may.
	return chmod(rte_eal_get_runtime_dir(), 0711) < 0 ? -1 : chmod(address.sun_path, 0666);
}

// Users other than root: not in the group, in it by their primary group, in it by another group.
static void become(uint8_t who)
{
	const gid_t group = MEMBERS;
	gid_t own = who % 4 == 2 ? MEMBERS : 1;

	if (setgroups(who % 4 == 3, &group) < 0 || setegid(own) < 0 || seteuid(1) < 0)
		abort();
}

static void become_root(void)
{
	if (seteuid(0) < 0 || setegid(0) < 0 || setgroups(0, NULL) < 0)
		abort();
}

static void client_connect(int *client, uint8_t who)
{
	bool other = who % 4 > 0 && has_others;

	if (*client >= 0)
		return;
	*client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (other)
		become(who);
	if (connect(*client, (struct sockaddr *)&address, sizeof(address)) < 0) { // queue is full
		close(*client);
		*client = -1;
	}
	if (other)
		become_root();
}

static void client_send(int client, size_t len)
{
	static char request[CONTROL_REQUEST_MAX + 1000];

	memset(request, 'a', sizeof(request));
	if (client >= 0)
		send(client, request, RTE_MIN(len, sizeof(request)), MSG_NOSIGNAL);
}

static void client_close(int *client)
{
	if (*client >= 0)
		close(*client);
	*client = -1;
}

static void take(struct control_socket *s, struct control_request *r, bool *serving)
{
	if (*serving || !control_socket_take(s, r, NULL))
		return;
	assert_int_equal(strlen(r->text), r->len);
	assert_in_range(r->len, 1, CONTROL_REQUEST_MAX);
	free(r->text);
	*serving = true;
}

// Events for subscribers: so long that their queues are soon full.
static void happen(unsigned int n)
{
	char path[600];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (; n > 0; n--)
		event_post(PEER_MOVED, EVENT_TEXT("to-b"), EVENT_TEXT(path), EVENT_NUMBER(n));
}

static void answer(struct control_socket *s, const struct control_request *r, bool *serving,
	size_t len, uint64_t now_ms)
{
	static char text[UINT8_MAX * 4096 + 1];

	memset(text, 'a', len);
	text[len] = '\0';
	if (*serving)
		control_socket_answer(s, r, "ok", text, now_ms);
	*serving = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct control_socket s = {.fd = dup(opened.fd), .access = opened.access, .group = MEMBERS};
	static char octets[1 << 16];
	uint64_t now_ms = 1000;
	struct control_request r;
	bool serving = false;
	int client[CLIENTS];

	for (unsigned int i = 0; i < CLIENTS; i++)
		client[i] = -1;
	for (; len >= 2; input += 2, len -= 2) {
		int *c = &client[(input[0] / STEPS) % CLIENTS];

		switch ((enum step)(input[0] % STEPS)) {
		case CONNECT:
			client_connect(c, input[1]);
			break;
		case SEND:
			client_send(*c, input[1]);
			break;
		case SEND_LARGE:
			client_send(*c, CONTROL_REQUEST_MAX - 128 + input[1]);
			break;
		case CLOSE:
			client_close(c);
			break;
		case READ:
			if (*c >= 0)
				recv(*c, octets, sizeof(octets), 0);
			break;
		case WAIT_MS:
			now_ms += input[1] * 20;
			break;
		case TAKE:
			if (input[1] > 1)
				happen(input[1]);
			else
				take(&s, &r, &serving);
			if (input[1] == 1 && serving)
				serving = !control_socket_subscribe(&s, &r, "events 0\n");
			break;
		default:
			answer(&s, &r, &serving, input[1] * 4096u, now_ms);
			break;
		}
		control_socket_tick(&s, now_ms);
		if (!control_socket_is_busy(&s)) // nobody waits for an answer
			assert_false(control_socket_take(&s, &(struct control_request){0}, NULL));
		assert_in_range(control_socket_fd(&s) + 1, 0, s.fd + 1);
	}
	for (unsigned int i = 0; i < CLIENTS; i++) // clients not accepted yet
		control_socket_tick(&s, now_ms += 10000);
	control_socket_close(&s);
	for (unsigned int i = 0; i < CLIENTS; i++)
		client_close(&client[i]);
	return 0;
}
