// SPDX-License-Identifier: BSD-3-Clause
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TIMEOUT_S  5
#define PACKET_MAX (16 * 1024) // the most that DPDK sends
#define PIECE_MAX  (16 * 1024)

// A signal that stops and continues the process ends a wait with EINTR: hence the retries.

static int packet_send(int fd, const char *text)
{
	if (TEMP_FAILURE_RETRY(send(fd, text, strlen(text), MSG_NOSIGNAL)) >= 0)
		return 0;
	if (errno == EPIPE)
		return -ECONNRESET;
	return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

static int packet_receive(json_t **message, int fd)
{
	char packet[PACKET_MAX];
	// With MSG_TRUNC the length is that of the packet, also if the buffer is shorter.
	ssize_t len = TEMP_FAILURE_RETRY(recv(fd, packet, sizeof(packet), MSG_TRUNC));

	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (len == 0)
		return -ECONNRESET;
	if ((size_t)len > sizeof(packet))
		return -EPROTO;
	*message = json_loadb(packet, (size_t)len, JSON_REJECT_DUPLICATES, NULL);
	return *message != NULL ? 0 : -EPROTO;
}

static int greeting_receive(pid_t *pid, int fd)
{
	json_t *greeting;
	int ret = packet_receive(&greeting, fd);

	if (ret != 0)
		return ret;

	const json_t *value = json_object_get(greeting, "pid");

	if (json_is_integer(value))
		*pid = (pid_t)json_integer_value(value);
	else
		ret = -EPROTO;
	json_decref(greeting);
	return ret;
}

int client_connect(const struct sockaddr_un *addr, unsigned int answer_s)
{
	const struct timeval to_send = {.tv_sec = TIMEOUT_S}, to_answer = {.tv_sec = answer_s};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	// SO_SNDTIMEO limits connect() as well: it waits while the daemon's queue is full.
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &to_answer, sizeof(to_answer)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &to_send, sizeof(to_send)) == 0 &&
		TEMP_FAILURE_RETRY(connect(fd, (const void *)addr, sizeof(*addr))) == 0)
		return fd;
	error = errno;
	close(fd);
	return error == EAGAIN ? -ETIMEDOUT : -error;
}

int client_open(pid_t *pid, const struct sockaddr_un *addr)
{
	int fd = client_connect(addr, TIMEOUT_S);
	int ret = fd < 0 ? 0 : greeting_receive(pid, fd);

	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

// Appends the items of one answer to items. DPDK leaves out every item that does not fit, but may
// find room for a shorter one after it: so an item is taken only if all before it are here. Returns
// their number, or an error; with EBADRQC items has the reason alone.
static int page_take(json_t *items, const json_t *page)
{
	char number[24];
	json_t *error;
	int taken = 0;

	if (json_is_null(page))
		return -ENOSYS;
	if (!json_is_object(page))
		return -EPROTO;
	if (json_object_size(page) == 0)
		return 0;
	error = json_object_get(page, "error");
	if (json_is_string(error)) {
		json_array_clear(items);
		return json_array_append(items, error) == 0 ? -EBADRQC : -ENOMEM;
	}
	for (;; taken++) {
		snprintf(number, sizeof(number), "%zu", json_array_size(items));

		json_t *item = json_object_get(page, number);

		if (item == NULL)
			return taken > 0 ? taken : -EPROTO;
		if (!json_is_object(item))
			return -EPROTO;
		if (json_array_append(items, item) != 0)
			return -ENOMEM;
	}
}

static int page_request(json_t *items, int fd, const char *command, const char *filter)
{
	char request[128 + CLIENT_FILTER_MAX];
	json_t *answer;
	int ret;

	snprintf(request, sizeof(request), "%s,%zu%s", command, json_array_size(items), filter);
	ret = packet_send(fd, request);
	if (ret == 0)
		ret = packet_receive(&answer, fd);
	if (ret != 0)
		return ret;
	ret = page_take(items, json_object_get(answer, command));
	json_decref(answer);
	return ret;
}

int client_list(json_t *items, int fd, const char *command, const char *filter)
{
	int taken;

	do
		taken = page_request(items, fd, command, filter);
	while (taken > 0);
	return taken;
}

// A client without permission gets its answer before the request is read: then sending fails, and
// the answer is received all the same.
int client_send(int fd, const char *request)
{
	int ret = packet_send(fd, request);

	return ret == -ECONNRESET ? 0 : ret;
}

// Reads to the end. Returns the octets, or -errno.
static ssize_t octets_receive(char **text, int fd)
{
	size_t len = 0;
	ssize_t n;

	*text = NULL;
	do {
		char *longer = realloc(*text, len + PIECE_MAX + 1);

		if (longer == NULL)
			return -ENOMEM;
		*text = longer;
		n = TEMP_FAILURE_RETRY(recv(fd, *text + len, PIECE_MAX, 0));
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		len += (size_t)n;
	} while (n > 0);
	(*text)[len] = '\0';
	return (ssize_t)len;
}

static int answer_receive(struct answer *answer, int fd)
{
	char *whole, *text;
	ssize_t len = octets_receive(&whole, fd);
	int ret = len < 0 ? (int)len : -ECONNRESET;
	size_t text_len;

	// A daemon that is stopped does not finish.
	if (len > 0 && (text = strchr(whole, '\n')) != NULL &&
		sscanf(whole, "%15s %zu", answer->status, &text_len) == 2 &&
		strlen(text + 1) == text_len) {
		answer->text = strdup(text + 1);
		ret = answer->text != NULL ? 0 : -ENOMEM;
	}
	free(whole);
	return ret;
}

int client_ask(struct answer *answer, const struct sockaddr_un *addr, const char *request)
{
	int fd = client_connect(addr, CLIENT_REQUEST_S);
	int ret;

	if (fd < 0)
		return fd;
	ret = client_send(fd, request);
	if (ret == 0)
		ret = answer_receive(answer, fd);
	close(fd);
	return ret;
}

void answer_fini(struct answer *answer)
{
	free(answer->text);
}

const char *client_strerror(int error)
{
	switch (-error) {
	case EACCES:
		return "permission denied: only root and members of show_group have access";
	case ENOENT:
	case ECONNREFUSED:
		return "not running, see: culvertctl list";
	case ECONNRESET:
		return "the daemon closed the connection: it stopped, or has 10 clients already";
	case ETIMEDOUT:
		return "no answer within 5 seconds";
	case ENOSYS:
		return "unknown to the daemon: it is starting, or older than culvertctl";
	case EPROTO:
		return "malformed answer: is this a culvertd of the same version?";
	default:
		return strerror(-error);
	}
}
