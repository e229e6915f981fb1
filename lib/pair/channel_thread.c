// SPDX-License-Identifier: BSD-3-Clause
// The thread of a channel: one loop around poll(). Times are milliseconds.
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "beacon.h"
#include "channel_parts.h"

#define SILENCE_MAX   1000 // without an octet from the other end
#define BEACON_EVERY  200
#define DEAF_MIN      1000 // that the other end has received nothing
#define CONNECT_MAX   1000
#define GREETING_MAX  2000 // for the handshake of TLS and hello
#define BACK_OFF_MAX  1000
#define SOCKETS_AGAIN 1000
#define VERIFY_MAX    20 // signatures in a second
#define ACCEPTS_MAX   16 // at once
#define WAIT_MAX      50

// Ends a link that takes too long, or is silent.
static void link_expire(struct channel *ch, struct link *l, uint64_t now)
{
	if (l->state == LINK_OPEN && now - l->received_ms >= SILENCE_MAX) {
		channel_link_end(ch, l, now, "nothing was received for a second");
	} else if (l->state == LINK_CONNECTING && now - l->begun_ms >= CONNECT_MAX) {
		channel_attempt_failed(ch, -ETIMEDOUT);
		link_close(l);
	} else if ((l->state == LINK_HANDSHAKE || l->state == LINK_GREETING) &&
		   now - l->begun_ms >= GREETING_MAX) {
		channel_refuse(ch, now, false, "no handshake and hello within two seconds");
		link_close(l);
	}
}

// A free link; if there is none, that of the oldest stranger. NULL never: the connection has one.
static struct link *link_new(struct channel *ch, uint64_t now)
{
	struct link *oldest = NULL;

	for (struct link *l = ch->link; l < ch->link + CHANNEL_LINKS; l++) {
		if (l->state == LINK_NONE)
			return l;
		if (l != ch->open && (oldest == NULL || l->begun_ms < oldest->begun_ms))
			oldest = l;
	}
	channel_refuse(ch, now, false, "there were too many without a handshake");
	link_close(oldest);
	return oldest;
}

// --- sockets ---

static bool listens(const struct channel *ch)
{
	return memcmp(&ch->params.address, &ch->params.peer, sizeof(ch->params.peer)) < 0;
}

// Returns the descriptor, or -errno.
static int socket_open(const struct channel *ch, int type)
{
	static const int on = 1;
	struct sockaddr_storage own, other;
	socklen_t len = link_address(&own, &ch->params.address, ch->params.port);
	int fd = socket(own.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	link_address(&other, &ch->params.peer, ch->params.port);
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&own, len) < 0)
		rc = -errno;
	else if (type == SOCK_STREAM && listen(fd, ACCEPTS_MAX) < 0)
		rc = -errno;
	else if (type == SOCK_DGRAM && connect(fd, (struct sockaddr *)&other, len) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

// Opens the sockets that are not open. The address may not be there yet.
static void sockets_open(struct channel *ch, uint64_t now)
{
	char text[IP_ADDR_STRLEN];
	int rc = 0;

	if (now < ch->sockets_ms)
		return;
	ch->sockets_ms = now + SOCKETS_AGAIN;
	if (ch->beacons < 0)
		rc = ch->beacons = socket_open(ch, SOCK_DGRAM);
	if (rc >= 0 && listens(ch) && ch->listener < 0)
		rc = ch->listener = socket_open(ch, SOCK_STREAM);
	if (rc < 0 && ch->open == NULL)
		channel_error_set(ch, "cannot use pair.address %s, port %u: %s",
			ip_addr_format(text, &ch->params.address), ch->params.port, strerror(-rc));
}

static void accept_all(struct channel *ch, uint64_t now)
{
	for (unsigned int i = 0; ch->listener >= 0 && i < ACCEPTS_MAX; i++) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		int fd = accept4(
			ch->listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (link_address_is(&from, &ch->params.peer)) {
			link_begin(link_new(ch, now), &ch->tls, fd, true, now);
		} else {
			channel_refuse(ch, now, false, "it is not from pair.peer");
			close(fd);
		}
	}
}

static bool is_attempting(const struct channel *ch)
{
	for (const struct link *l = ch->link; l < ch->link + CHANNEL_LINKS; l++)
		if (l->state != LINK_NONE)
			return true;
	return false;
}

static void attempt(struct channel *ch, uint64_t now)
{
	int rc;

	if (listens(ch) || is_attempting(ch) || now < ch->attempt_ms)
		return;
	ch->back_off_ms = ch->back_off_ms == 0 ? CHANNEL_BACK_OFF_MIN : 2 * ch->back_off_ms;
	if (ch->back_off_ms > BACK_OFF_MAX)
		ch->back_off_ms = BACK_OFF_MAX;
	ch->attempt_ms = now + ch->back_off_ms;
	rc = link_connect(
		link_new(ch, now), &ch->params.address, &ch->params.peer, ch->params.port, now);
	if (rc < 0)
		channel_attempt_failed(ch, rc);
}

// --- beacons, while there is no connection ---

static void beacon_send(struct channel *ch, uint64_t now)
{
	char datagram[BEACON_MAX];
	struct pair_beacon b = {.member = ch->params.member};
	uint64_t deaf;
	size_t len;
	ssize_t n;

	if (ch->beacons < 0 || ch->open != NULL || now < ch->beacon_ms)
		return;
	ch->beacon_ms = now + BEACON_EVERY;
	pthread_mutex_lock(&ch->lock);
	deaf = now - (ch->received_ms != 0 ? ch->received_ms : ch->since_ms);
	pthread_mutex_unlock(&ch->lock);
	b.deaf_ms = deaf < UINT32_MAX ? (uint32_t)deaf : UINT32_MAX;
	len = beacon_write(datagram, &ch->tls, &b);
	n = send(ch->beacons, datagram, len, 0);
	(void)n; // the next one is like it
}

// Limits the work that somebody with the address of the other gateway can cause.
static bool may_verify(struct channel *ch, uint64_t now)
{
	if (ch->verify_second != now / 1000) {
		ch->verify_second = now / 1000;
		ch->verified = 0;
	}
	return ch->verified++ < VERIFY_MAX;
}

static void on_beacon(struct channel *ch, const struct pair_beacon *b, uint64_t now)
{
	bool refused;

	pthread_mutex_lock(&ch->lock);
	ch->received_ms = now;
	ch->deaf_ms = b->deaf_ms >= DEAF_MIN ? now : 0;
	refused = ch->refused_ms != 0;
	pthread_mutex_unlock(&ch->lock);
	if (!refused) // it is there again
		ch->back_off_ms = 0;
	if (!refused && ch->attempt_ms > now + CHANNEL_BACK_OFF_MIN)
		ch->attempt_ms = now + CHANNEL_BACK_OFF_MIN;
}

static void beacons_read(struct channel *ch, uint64_t now)
{
	char datagram[BEACON_MAX];
	struct pair_beacon b;
	ssize_t n;

	for (unsigned int i = 0; ch->beacons >= 0 && i < VERIFY_MAX; i++) {
		n = recv(ch->beacons, datagram, sizeof(datagram), 0);
		if (n < 0)
			return;
		if (ch->open == NULL && may_verify(ch, now) &&
			beacon_read(&b, &ch->tls, datagram, (size_t)n) &&
			b.member != ch->params.member)
			on_beacon(ch, &b, now);
	}
}

// --- the loop ---

static void wait(struct channel *ch, bool again)
{
	struct pollfd fds[3 + CHANNEL_LINKS] = {{.fd = ch->wake, .events = POLLIN},
		{.fd = ch->listener, .events = POLLIN}, {.fd = ch->beacons, .events = POLLIN}};
	uint64_t count;
	ssize_t n;

	for (unsigned int i = 0; i < CHANNEL_LINKS; i++) {
		struct link *l = &ch->link[i];

		fds[3 + i].fd = l->state != LINK_NONE ? l->fd : -1;
		fds[3 + i].events = l->state != LINK_NONE ? link_events(l) : 0;
		if (l == ch->open && !channel_may_read(ch))
			fds[3 + i].events &= ~POLLIN;
	}
	poll(fds, 3 + CHANNEL_LINKS, again ? 0 : WAIT_MAX);
	n = read(ch->wake, &count, sizeof(count));
	(void)n;
}

static void received_note(struct channel *ch)
{
	if (ch->open == NULL)
		return;
	pthread_mutex_lock(&ch->lock);
	ch->received_ms = ch->open->received_ms;
	pthread_mutex_unlock(&ch->lock);
}

static bool step(struct channel *ch)
{
	uint64_t now = channel_now_ms();
	bool again = false;

	sockets_open(ch, now);
	accept_all(ch, now);
	beacons_read(ch, now);
	for (struct link *l = ch->link; l < ch->link + CHANNEL_LINKS; l++) {
		again |= channel_link_step(ch, l, now);
		link_expire(ch, l, now);
	}
	received_note(ch);
	attempt(ch, now);
	beacon_send(ch, now);
	return again;
}

void *channel_thread_run(void *channel)
{
	struct channel *ch = channel;
	sigset_t pipe;

	sigemptyset(&pipe); // the socket of a connection that the other end has closed
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	ch->confined = ch->confine != NULL ? ch->confine(ch->confine_arg) : 0;
	atomic_store_explicit(&ch->ready, true, memory_order_release);
	while (!atomic_load_explicit(&ch->stop, memory_order_acquire))
		wait(ch, step(ch));
	for (struct link *l = ch->link; l < ch->link + CHANNEL_LINKS; l++)
		if (l->state != LINK_NONE)
			channel_link_end(ch, l, channel_now_ms(), "it was stopped");
	if (ch->listener >= 0)
		close(ch->listener);
	if (ch->beacons >= 0)
		close(ch->beacons);
	return NULL;
}
