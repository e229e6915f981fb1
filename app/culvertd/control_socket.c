// SPDX-License-Identifier: BSD-3-Clause
#include "control_socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "access.h"
#include "event_log.h"
#include "log.h"
#include "state.h"
#include "unix_socket.h"

#define ASK_MS  2000 // until a client has sent its request
#define TAKE_MS 2000 // until it has taken another piece of the answer
#define PIECE   (16 * 1024)

static int make(struct control_socket *s, const struct conf *conf, struct sockaddr_un *addr)
{
	const struct passwd *user = conf->user != NULL ? getpwnam(conf->user) : NULL;
	int len = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/%s",
		rte_eal_get_runtime_dir(), s->access->file);

	if ((size_t)len >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	unlink(addr->sun_path); // of a daemon that was killed: there is one of an instance
	if (unix_socket_bind(s->fd, addr, 0660) < 0 ||
		lchown(addr->sun_path, user != NULL ? user->pw_uid : (uid_t)-1, s->group) < 0 ||
		listen(s->fd, CONTROL_CLIENTS_MAX) < 0)
		return -errno;
	return 0;
}

int control_socket_open(struct control_socket *s, const struct conf *conf,
	const struct control_access *access, gid_t group)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char why[PATH_MAX + 256];
	int rc;

	*s = (struct control_socket){.fd = -1, .access = access, .group = group};
	if (folder_check(rte_eal_get_runtime_dir(), conf, "others could replace the control socket",
		    why, sizeof(why)) < 0) {
		log_error("%s", why);
		return -EIO;
	}
	rc = make(s, conf, &addr);
	if (rc == 0)
		return 0;
	log_error("%s: cannot create: %s; only root or a member of the group can give it to %s",
		addr.sun_path, strerror(-rc), access->setting);
	return -EIO;
}

// Reads octets that a client has sent after its request: if the socket were closed with unread
// octets, the client would lose the answer.
static void client_close(struct control_client *c)
{
	char octet;

	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX && recv(c->fd, &octet, 1, 0) > 0; i++)
		;
	close(c->fd);
	control_request_free(&c->request);
	if (c->answer != c->short_answer)
		free(c->answer);
	*c = (struct control_client){.fd = -1};
}

static void client_answer(
	struct control_client *c, const char *status, const char *text, uint64_t now_ms)
{
	size_t size = strlen(status) + strlen(text) + sizeof(" 18446744073709551615\n");

	c->answer = size <= sizeof(c->short_answer) ? c->short_answer : malloc(size);
	if (c->answer == NULL) {
		client_answer(c, "refused", "out of memory for the answer\n", now_ms);
		return;
	}
	c->answer_len = (size_t)snprintf(c->answer, size, "%s %zu\n%s", status, strlen(text), text);
	c->state = CONTROL_ANSWERED;
	c->deadline_ms = now_ms + TAKE_MS;
}

static void __attribute__((format(printf, 3, 4)))
client_refuse(struct control_client *c, uint64_t now_ms, const char *fmt, ...)
{
	char why[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	client_answer(c, "refused", why, now_ms);
}

static void client_begin(
	struct control_socket *s, struct control_client *c, int fd, uint64_t now_ms)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	*c = (struct control_client){.state = CONTROL_ASKS,
		.fd = fd,
		.number = s->came++,
		.deadline_ms = now_ms + ASK_MS};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
		client_close(c);
		return;
	}
	c->request.uid = peer.uid;
	c->request.pid = peer.pid;
	if (access_is_permitted(fd, s->group))
		return;
	log_warn("%s: permission denied to user %u, process %d", s->access->file, peer.uid,
		peer.pid);
	client_refuse(c, now_ms,
		"permission denied to user %u: only root and members of %s have access\n", peer.uid,
		s->access->setting);
}

// A client without a place waits in the backlog: the others have a time limit.
static void accept_clients(struct control_socket *s, uint64_t now_ms)
{
	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *c = &s->client[i];
		int fd;

		if (c->state != CONTROL_NONE)
			continue;
		fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		client_begin(s, c, fd, now_ms);
	}
}

static void client_wait(struct control_client *c, const char *request, size_t len, uint64_t now_ms)
{
	c->request.text = calloc(1, len + 1);
	if (c->request.text == NULL) {
		client_refuse(c, now_ms, "out of memory for the request\n");
		return;
	}
	memcpy(c->request.text, request, len);
	c->request.len = len;
	c->state = CONTROL_WAITS;
}

static void client_receive(struct control_client *c, uint64_t now_ms)
{
	static char packet[CONTROL_REQUEST_MAX];
	// With MSG_TRUNC the length is that of the packet, also if it is longer than the buffer.
	ssize_t len = recv(c->fd, packet, sizeof(packet), MSG_TRUNC);

	if (len <= 0) {
		if (len == 0 || errno != EAGAIN)
			client_close(c);
		return;
	}
	if ((size_t)len > sizeof(packet)) {
		client_refuse(c, now_ms, "the request has %zd octets, must have at most %d\n", len,
			CONTROL_REQUEST_MAX);
	} else {
		client_wait(c, packet, (size_t)len, now_ms);
	}
	explicit_bzero(packet, RTE_MIN((size_t)len, sizeof(packet)));
}

static void client_send(struct control_client *c, uint64_t now_ms)
{
	while (c->answer_sent < c->answer_len) {
		size_t len = RTE_MIN(c->answer_len - c->answer_sent, (size_t)PIECE);

		if (send(c->fd, c->answer + c->answer_sent, len, MSG_NOSIGNAL) < 0) {
			if (errno != EAGAIN)
				client_close(c);
			return;
		}
		c->answer_sent += len;
		c->deadline_ms = now_ms + TAKE_MS;
	}
	client_close(c);
}

// As many events as the socket takes.
static void client_feed(struct control_client *c)
{
	uint64_t position = c->position;
	char line[EVENT_LINE_MAX];

	while (event_log_read(&position, line)) {
		if (send(c->fd, line, strlen(line), MSG_NOSIGNAL) < 0) {
			if (errno != EAGAIN)
				client_close(c);
			return;
		}
		c->position = position;
	}
}

// Events to poll for besides its end.
static short client_wants(const struct control_client *c)
{
	switch (c->state) {
	case CONTROL_ASKS:
		return POLLIN;
	case CONTROL_ANSWERED:
		return POLLOUT;
	case CONTROL_SUBSCRIBED:
		return c->position != event_log_end() ? POLLOUT : 0;
	default:
		return 0;
	}
}

static void client_tick(struct control_client *c, short events, uint64_t now_ms)
{
	bool limited = c->state == CONTROL_ASKS || c->state == CONTROL_ANSWERED;

	if (c->state == CONTROL_ASKS && events != 0)
		client_receive(c, now_ms);
	else if (c->state == CONTROL_ANSWERED && events != 0)
		client_send(c, now_ms);
	else if (c->state == CONTROL_SUBSCRIBED && events == POLLOUT)
		client_feed(c);
	else if ((events & (POLLHUP | POLLERR)) != 0 || (limited && now_ms >= c->deadline_ms))
		client_close(c);
}

void control_socket_tick(struct control_socket *s, uint64_t now_ms)
{
	struct pollfd fds[CONTROL_CLIENTS_MAX];

	if (s->fd < 0)
		return;
	accept_clients(s, now_ms); // first: mostly they have sent a request already
	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		fds[i] = (struct pollfd){
			.fd = s->client[i].state != CONTROL_NONE ? s->client[i].fd : -1,
			.events = client_wants(&s->client[i]),
		};
	if (poll(fds, RTE_DIM(fds), 0) < 0)
		return;
	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (s->client[i].state != CONTROL_NONE)
			client_tick(&s->client[i], fds[i].revents, now_ms);
}

bool control_socket_is_busy(const struct control_socket *s)
{
	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (s->client[i].state != CONTROL_NONE && s->client[i].state != CONTROL_SUBSCRIBED)
			return true;
	return false;
}

int control_socket_fd(struct control_socket *s)
{
	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (s->client[i].state == CONTROL_NONE)
			return s->fd;
	return -1;
}

// The client that has connected first, with a request that is wanted.
static struct control_client *next_client(struct control_socket *s, request_wanted *wanted)
{
	struct control_client *first = NULL;

	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *c = &s->client[i];

		if (c->state == CONTROL_WAITS && (first == NULL || c->number < first->number) &&
			(wanted == NULL || wanted(c->request.text)))
			first = c;
	}
	return first;
}

bool control_socket_take(
	struct control_socket *s, struct control_request *request, request_wanted *wanted)
{
	struct control_client *c = next_client(s, wanted);

	if (c == NULL)
		return false;
	*request = c->request;
	request->client = c->number;
	c->request.text = NULL;
	c->state = CONTROL_SERVED;
	return true;
}

// The client of a request that was taken; NULL: it has gone.
static struct control_client *client_of(
	struct control_socket *s, const struct control_request *request)
{
	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (s->client[i].state == CONTROL_SERVED && s->client[i].number == request->client)
			return &s->client[i];
	return NULL;
}

void control_socket_answer(struct control_socket *s, const struct control_request *request,
	const char *status, const char *text, uint64_t now_ms)
{
	struct control_client *c = client_of(s, request);

	if (c == NULL)
		return;
	client_answer(c, status, text, now_ms);
	client_send(c, now_ms);
}

static unsigned int subscribers(const struct control_socket *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		n += s->client[i].state == CONTROL_SUBSCRIBED;
	return n;
}

bool control_socket_subscribe(
	struct control_socket *s, const struct control_request *request, const char *text)
{
	struct control_client *c = client_of(s, request);

	if (c == NULL)
		return true;
	if (subscribers(s) == CONTROL_SUBSCRIBERS_MAX)
		return false;
	c->state = CONTROL_SUBSCRIBED;
	c->position = event_log_end();
	if (send(c->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		client_close(c);
	return true;
}

void control_socket_close(struct control_socket *s)
{
	for (unsigned int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (s->client[i].state != CONTROL_NONE)
			client_close(&s->client[i]);
	if (s->fd >= 0)
		close(s->fd);
}
