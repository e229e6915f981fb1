// SPDX-License-Identifier: BSD-3-Clause
// The links of a channel: reading and writing, and which of them is the connection.
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "channel_parts.h"
#include "log.h"

#define ALIVE_EVERY   100
#define WARN_EVERY    10000
#define READ_LEN      4096
#define READS_AT_ONCE 16

// --- the state for others ---

void channel_error_set(struct channel *ch, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&ch->lock);
	va_start(ap, fmt);
	vsnprintf(ch->error, sizeof(ch->error), fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&ch->lock);
}

void channel_refuse(struct channel *ch, uint64_t now, bool peer, const char *why)
{
	uint64_t n;

	pthread_mutex_lock(&ch->lock);
	n = ++ch->strangers;
	if (peer && ch->open == NULL) {
		ch->refused_ms = now;
		snprintf(ch->error, sizeof(ch->error), "%s", why);
	}
	pthread_mutex_unlock(&ch->lock);
	if (now < ch->warned_ms)
		return;
	ch->warned_ms = now + WARN_EVERY;
	log_warn("pair: a connection was refused: %s; %lu of them so far", why, n);
}

// --- the connection ---

static void followed_begin(struct followed *f, uint64_t now)
{
	*f = (struct followed){.mark_ms = now};
}

static void followed_reach(struct followed *f, uint64_t reached, uint64_t now)
{
	f->reached = reached;
	if (reached < f->mark)
		return;
	f->mark = f->amount;
	f->mark_ms = now;
}

// With the lock.
static void queues_clear(struct channel *ch)
{
	line_queue_clear(&ch->in);
	line_queue_clear(&ch->out);
	ch->stalled = false;
}

void channel_link_end(struct channel *ch, struct link *l, uint64_t now, const char *why)
{
	char line[PAIR_REASON_MAX + 8];
	int len = snprintf(line, sizeof(line), "bye %s", why);

	if (l->state >= LINK_GREETING && l->writing == 0 && link_add(l, line, (size_t)len))
		link_flush(l);
	link_close(l);
	if (l != ch->open)
		return;
	ch->open = NULL;
	ch->back_off_ms = 0;
	ch->attempt_ms = now + CHANNEL_BACK_OFF_MIN;
	pthread_mutex_lock(&ch->lock);
	ch->epoch = 0;
	ch->since_ms = now;
	ch->failures++;
	queues_clear(ch);
	snprintf(ch->error, sizeof(ch->error), "%s", why);
	pthread_mutex_unlock(&ch->lock);
}

// The link becomes the connection, in place of another one: the other gateway has begun again.
static void link_open(struct channel *ch, struct link *l, uint64_t now)
{
	if (ch->open != NULL)
		channel_link_end(ch, ch->open, now, "another connection has replaced it");
	ch->open = l;
	ch->beats = ch->beats_seen = 0;
	ch->alive_ms = now;
	l->state = LINK_OPEN;
	pthread_mutex_lock(&ch->lock);
	ch->epoch = ++ch->epochs;
	ch->since_ms = ch->received_ms = now;
	ch->peer = l->hello;
	ch->error[0] = '\0';
	ch->refused_ms = ch->deaf_ms = 0;
	queues_clear(ch);
	followed_begin(&ch->sent, now);
	followed_begin(&ch->received, now);
	followed_begin(&ch->beat, now);
	pthread_mutex_unlock(&ch->lock);
}

// Writes why the two do not fit. False: they do.
static bool has_objection(
	char why[PAIR_REASON_MAX], const struct channel *ch, const struct pair_hello *h)
{
	if (h->protocol != PAIR_PROTOCOL)
		snprintf(why, PAIR_REASON_MAX,
			"one gateway speaks protocol %u of the channel, the other %u", h->protocol,
			PAIR_PROTOCOL);
	else if (h->member == ch->params.member)
		snprintf(why, PAIR_REASON_MAX,
			"both gateways are member %u: set pair.member of one of them to %u",
			h->member, 3 - h->member);
	else
		return false;
	return true;
}

static bool on_hello(struct channel *ch, struct link *l, const char *line, uint64_t now)
{
	char why[PAIR_REASON_MAX];

	if (message_word(line) == MESSAGE_BYE) {
		channel_refuse(ch, now, true, strchr(line, ' ') + 1);
		channel_link_end(ch, l, now, "it was ended");
		return false;
	}
	if (message_word(line) != MESSAGE_HELLO || !pair_hello_read(&l->hello, line)) {
		channel_refuse(ch, now, true, "its first line is no hello");
		channel_link_end(ch, l, now, "the first line is no hello");
		return false;
	}
	if (has_objection(why, ch, &l->hello)) {
		channel_refuse(ch, now, true, why);
		channel_link_end(ch, l, now, why);
		return false;
	}
	link_open(ch, l, now);
	return true;
}

static bool on_alive(struct channel *ch, const char *line, uint64_t now)
{
	struct pair_alive a;
	bool right = pair_alive_read(&a, line);

	pthread_mutex_lock(&ch->lock);
	right = right && a.sent >= ch->received.amount && a.taken >= ch->sent.reached &&
		a.taken <= ch->sent.amount && a.seen >= ch->beat.reached &&
		a.seen <= ch->beat.amount;
	if (right) {
		ch->beats_seen++;
		ch->received.amount = a.sent;
		followed_reach(&ch->received, ch->received.reached, now);
		followed_reach(&ch->sent, a.taken, now);
		followed_reach(&ch->beat, a.seen, now);
	}
	pthread_mutex_unlock(&ch->lock);
	return right;
}

static bool on_config(struct channel *ch, const char *line)
{
	bool right;

	pthread_mutex_lock(&ch->lock);
	right = pair_config_read(ch->peer.config, strchr(line, ' ') + 1);
	pthread_mutex_unlock(&ch->lock);
	return right;
}

// There is room: see channel_may_read().
static void on_user_line(struct channel *ch, const char *line)
{
	bool room;

	pthread_mutex_lock(&ch->lock);
	room = line_queue_put(&ch->in, line, strlen(line));
	pthread_mutex_unlock(&ch->lock);
	assert(room);
}

// A line on the connection. False: it was ended.
static bool on_line(struct channel *ch, struct link *l, const char *line, uint64_t now)
{
	char why[PAIR_REASON_MAX];
	bool right = true;

	switch (message_word(line)) {
	case MESSAGE_USER:
		on_user_line(ch, line);
		break;
	case MESSAGE_ALIVE:
		right = on_alive(ch, line, now);
		break;
	case MESSAGE_CONFIG:
		right = on_config(ch, line);
		break;
	case MESSAGE_BYE:
		snprintf(why, sizeof(why), "the other gateway: %s", strchr(line, ' ') + 1);
		channel_link_end(ch, l, now, why);
		return false;
	case MESSAGE_HELLO:
		right = false;
	}
	if (!right)
		channel_link_end(ch, l, now, "a line of the channel is malformed");
	return right;
}

// --- reading ---

// False: the link was ended.
static bool octets_read(
	struct channel *ch, struct link *l, const char *octets, size_t len, uint64_t now)
{
	while (len > 0) {
		size_t used;
		enum line_result r = line_read(&l->in, octets, len, &used);

		octets += used;
		len -= used;
		if (r == LINE_TOO_LONG || r == LINE_NOT_TEXT) {
			channel_link_end(ch, l, now,
				r == LINE_TOO_LONG ? "a line is longer than 1024 octets"
						   : "a line is not printable ASCII");
			return false;
		}
		if (r == LINE_WHOLE && !(l->state == LINK_OPEN ? on_line(ch, l, l->in.text, now)
							       : on_hello(ch, l, l->in.text, now)))
			return false;
	}
	return true;
}

bool channel_may_read(struct channel *ch)
{
	bool room;

	pthread_mutex_lock(&ch->lock);
	room = line_queue_room(&ch->in) >= READ_LEN + LINE_LEN_MAX;
	ch->stalled = !room;
	pthread_mutex_unlock(&ch->lock);
	return room;
}

static void link_failed(struct channel *ch, struct link *l, enum tls_result r, uint64_t now)
{
	char why[PAIR_REASON_MAX] = "the other gateway has closed the connection";
	bool greets = l->state == LINK_GREETING;

	if (r == TLS_FAILED && tls_why(why, sizeof(why)) && greets)
		channel_refuse(ch, now, true, why);
	else if (greets)
		channel_error_set(ch, "%s", why);
	channel_link_end(ch, l, now, why);
}

// Returns whether there may be more.
static bool link_read(struct channel *ch, struct link *l, uint64_t now)
{
	char octets[READ_LEN];

	for (unsigned int i = 0; i < READS_AT_ONCE; i++) {
		enum tls_result r;
		bool right;
		size_t n;

		if (l->state == LINK_OPEN && !channel_may_read(ch)) {
			l->received_ms = now; // nobody knows whether it is silent
			return false;
		}
		r = tls_read(l->ssl, octets, sizeof(octets), &n);
		if (r == TLS_AGAIN)
			return false;
		if (r != TLS_DONE) {
			link_failed(ch, l, r, now);
			return false;
		}
		l->received_ms = now;
		right = octets_read(ch, l, octets, n, now);
		explicit_bzero(octets, n); // changes have keys
		if (!right)
			return false;
	}
	return true;
}

// --- writing ---

static void own_hello(struct channel *ch, struct pair_hello *h)
{
	*h = (struct pair_hello){.protocol = PAIR_PROTOCOL, .member = ch->params.member};
	strcpy(h->name, ch->name);
	strcpy(h->version, ch->version);
	pthread_mutex_lock(&ch->lock);
	strcpy(h->config, ch->config);
	ch->config_changed = false;
	pthread_mutex_unlock(&ch->lock);
}

// Adds lines of the user, if the ones before are written.
static void user_lines_add(struct channel *ch, struct link *l)
{
	size_t len;

	if (l->out_len > 0)
		return;
	pthread_mutex_lock(&ch->lock);
	while ((len = line_queue_take(&ch->out, l->out + l->out_len, sizeof(l->out) - l->out_len)) >
		0)
		l->out_len += len;
	pthread_mutex_unlock(&ch->lock);
}

static void alive_add(struct channel *ch, struct link *l, uint64_t now)
{
	char line[LINE_LEN_MAX];
	struct pair_alive a;
	size_t len;

	if (now < ch->alive_ms)
		return;
	ch->alive_ms = now + ALIVE_EVERY;
	pthread_mutex_lock(&ch->lock);
	a = (struct pair_alive){ch->sent.amount, ch->received.reached, ch->beats_seen};
	pthread_mutex_unlock(&ch->lock);
	len = pair_alive_write(line, sizeof(line), &a);
	if (!link_add(l, line, len))
		return; // it is slow: there is one more in a moment
	pthread_mutex_lock(&ch->lock);
	ch->beat.amount = ++ch->beats;
	pthread_mutex_unlock(&ch->lock);
}

static void config_add(struct channel *ch, struct link *l)
{
	char line[PAIR_CONFIG_MAX + 8];
	int len;

	pthread_mutex_lock(&ch->lock);
	len = ch->config_changed ? snprintf(line, sizeof(line), "config %s", ch->config) : 0;
	if (len > 0 && link_add(l, line, (size_t)len))
		ch->config_changed = false;
	pthread_mutex_unlock(&ch->lock);
}

// Returns whether it is to be called again at once.
static bool link_write(struct channel *ch, struct link *l, uint64_t now)
{
	enum tls_result r;

	if (l->state == LINK_OPEN) {
		alive_add(ch, l, now);
		config_add(ch, l);
		user_lines_add(ch, l);
	}
	if (l->out_len == 0)
		return false;
	r = link_flush(l);
	if (r == TLS_ENDED || r == TLS_FAILED) {
		link_read(ch, l, now); // why the other end has closed it
		if (l->state != LINK_NONE)
			link_failed(ch, l, TLS_ENDED, now);
	}
	return r == TLS_DONE && l->state == LINK_OPEN;
}

// --- links that are no connection yet ---

void channel_attempt_failed(struct channel *ch, int rc)
{
	char text[IP_ADDR_STRLEN];

	ip_addr_format(text, &ch->params.peer);
	channel_error_set(
		ch, "cannot connect to %s port %u: %s", text, ch->params.port, strerror(-rc));
}

static void link_connect_step(struct channel *ch, struct link *l, uint64_t now)
{
	int rc = link_connected(l);

	if (rc == -EINPROGRESS)
		return;
	if (rc == 0) {
		rc = link_begin(l, &ch->tls, l->fd, false, now);
		return;
	}
	channel_attempt_failed(ch, rc);
	link_close(l);
}

static void link_handshake_step(struct channel *ch, struct link *l, uint64_t now)
{
	enum tls_result r = tls_handshake(l->ssl);
	char why[PAIR_REASON_MAX] = "it has closed the connection";
	char line[LINE_LEN_MAX];
	struct pair_hello h;

	if (r == TLS_AGAIN)
		return;
	if (r != TLS_DONE) {
		if (r == TLS_FAILED)
			tls_why(why, sizeof(why));
		channel_refuse(ch, now, r == TLS_FAILED, why);
		link_close(l);
		return;
	}
	l->state = LINK_GREETING;
	own_hello(ch, &h);
	link_add(l, line, pair_hello_write(line, sizeof(line), &h));
}

bool channel_link_step(struct channel *ch, struct link *l, uint64_t now)
{
	bool again = false;

	if (l->state == LINK_CONNECTING)
		link_connect_step(ch, l, now);
	if (l->state == LINK_HANDSHAKE)
		link_handshake_step(ch, l, now);
	if (l->state >= LINK_GREETING)
		again |= link_read(ch, l, now);
	if (l->state >= LINK_GREETING)
		again |= link_write(ch, l, now);
	return again;
}
