// SPDX-License-Identifier: BSD-3-Clause
// Clients of the control socket that do anything in any order: the input is a list of steps. Every
// request that was sent whole is served once, in order, and its answer comes whole to who waits for
// it.
#include "control_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "log.h"
#include "test.h"

#define CLIENTS 12 // more than have a place

enum step { CONNECT, SEND, SEND_LARGE, CLOSE, READ, WAIT_MS, TAKE, ANSWER, STEPS };

static struct sockaddr_un address;
static socklen_t address_len;
static int listener;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_set_level(LOG_LEVEL_ERROR);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	address.sun_family = AF_UNIX;
	// An abstract name, which the kernel chooses.
	if (bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
		listen(listener, CLIENTS) < 0)
		return -1;
	address_len = sizeof(address);
	return getsockname(listener, (struct sockaddr *)&address, &address_len);
}

static void client_connect(int *client)
{
	if (*client >= 0)
		return;
	*client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connect(*client, (struct sockaddr *)&address, address_len) < 0) { // the queue is full
		close(*client);
		*client = -1;
	}
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

static void take(struct control_socket *s, bool *serving)
{
	struct control_request r;

	if (*serving || !control_socket_take(s, &r))
		return;
	assert_int_equal(strlen(r.text), r.len);
	assert_in_range(r.len, 1, CONTROL_REQUEST_MAX);
	free(r.text);
	*serving = true;
}

static void answer(struct control_socket *s, bool *serving, size_t len, uint64_t now_ms)
{
	static char text[UINT8_MAX * 4096 + 1];

	memset(text, 'a', len);
	text[len] = '\0';
	if (*serving)
		control_socket_answer(s, "ok", text, now_ms);
	*serving = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct control_socket s = {.fd = dup(listener), .group = (gid_t)-1};
	static char octets[1 << 16];
	uint64_t now_ms = 1000;
	bool serving = false;
	int client[CLIENTS];

	for (unsigned int i = 0; i < CLIENTS; i++)
		client[i] = -1;
	for (; len >= 2; input += 2, len -= 2) {
		int *c = &client[(input[0] / STEPS) % CLIENTS];

		switch ((enum step)(input[0] % STEPS)) {
		case CONNECT:
			client_connect(c);
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
			take(&s, &serving);
			break;
		default:
			answer(&s, &serving, input[1] * 4096u, now_ms);
			break;
		}
		control_socket_tick(&s, now_ms);
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		client_close(&client[i]);
	for (unsigned int i = 0; i < CLIENTS; i++)
		control_socket_tick(&s, now_ms += 10000);
	control_socket_close(&s);
	return 0;
}
