// SPDX-License-Identifier: BSD-3-Clause
#include "channel.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "channel_parts.h"

#define LATE_MS   1000 // that lines may be missing, and alive lines unconfirmed
#define BEACON_MS 700  // after which the last beacon is too old
#define REFUSE_MS 3000 // the same of a refusal

const char *const channel_phase_names[] = {
	[CHANNEL_IN_SYNC] = "in sync",
	[CHANNEL_SYNCING] = "syncing",
	[CHANNEL_CONNECTING] = "connecting",
	[CHANNEL_ONE_WAY] = "one-way",
	[CHANNEL_REFUSED] = "refused",
};

uint64_t channel_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void wake(const struct channel *ch)
{
	static const uint64_t one = 1;
	ssize_t n = write(ch->wake, &one, sizeof(one));

	(void)n; // it fails only where the thread is awake
}

int channel_new(struct channel **channel, const struct channel_params *p)
{
	struct channel *ch = calloc(1, sizeof(*ch));
	int rc;

	if (ch == NULL)
		return -ENOMEM;
	ch->params = *p;
	snprintf(ch->name, sizeof(ch->name), "%s", p->name);
	snprintf(ch->version, sizeof(ch->version), "%s", p->version);
	ch->listener = ch->beacons = -1;
	ch->since_ms = channel_now_ms();
	pthread_mutex_init(&ch->lock, NULL);
	ch->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = ch->wake < 0 ? -errno
			  : tls_init(&ch->tls, p->certificate, p->key, p->peer_certificate);
	if (rc == 0 && (line_queue_init(&ch->in, CHANNEL_QUEUE_MAX) < 0 ||
			       line_queue_init(&ch->out, CHANNEL_QUEUE_MAX) < 0))
		rc = -ENOMEM;
	if (rc == 0)
		*channel = ch;
	else
		channel_free(ch);
	return rc;
}

int channel_start(struct channel *ch, int (*confine)(void *arg), void *arg)
{
	int rc;

	ch->confine = confine;
	ch->confine_arg = arg;
	rc = -pthread_create(&ch->thread, NULL, channel_thread_run, ch);
	if (rc < 0)
		return rc;
	ch->runs = true;
	pthread_setname_np(ch->thread, "culvert-pair");
	while (!atomic_load_explicit(&ch->ready, memory_order_acquire))
		sched_yield();
	return ch->confined;
}

void channel_free(struct channel *ch)
{
	if (ch == NULL)
		return;
	if (ch->runs) {
		atomic_store_explicit(&ch->stop, true, memory_order_release);
		wake(ch);
		pthread_join(ch->thread, NULL);
	}
	line_queue_fini(&ch->in);
	line_queue_fini(&ch->out);
	tls_fini(&ch->tls);
	if (ch->wake >= 0)
		close(ch->wake);
	pthread_mutex_destroy(&ch->lock);
	free(ch);
}

void channel_config_set(struct channel *ch, const char *config)
{
	pthread_mutex_lock(&ch->lock);
	if (strcmp(ch->config, config) != 0) {
		snprintf(ch->config, sizeof(ch->config), "%s", config);
		ch->config_changed = true;
	}
	pthread_mutex_unlock(&ch->lock);
}

uint64_t channel_epoch(struct channel *ch)
{
	pthread_mutex_lock(&ch->lock);
	ch->epoch_seen = ch->epoch;
	pthread_mutex_unlock(&ch->lock);
	return ch->epoch_seen;
}

// With the lock.
static bool is_seen(const struct channel *ch)
{
	return ch->epoch != 0 && ch->epoch == ch->epoch_seen;
}

bool channel_send(struct channel *ch, const char *line, size_t len)
{
	bool first, sent;

	assert(len < LINE_LEN_MAX && message_word(line) == MESSAGE_USER);
	pthread_mutex_lock(&ch->lock);
	first = ch->out.len == 0;
	sent = is_seen(ch) && line_queue_put(&ch->out, line, len);
	ch->sent.amount += sent;
	pthread_mutex_unlock(&ch->lock);
	if (first && sent)
		wake(ch);
	return sent;
}

size_t channel_waiting(struct channel *ch)
{
	size_t len;

	pthread_mutex_lock(&ch->lock);
	len = ch->out.len;
	pthread_mutex_unlock(&ch->lock);
	return len;
}

bool channel_receive(struct channel *ch, char line[LINE_LEN_MAX])
{
	size_t len;
	bool stalled;

	pthread_mutex_lock(&ch->lock);
	len = is_seen(ch) ? line_queue_take(&ch->in, line, LINE_LEN_MAX) : 0;
	ch->received.reached += len > 0;
	stalled = ch->stalled && line_queue_room(&ch->in) >= CHANNEL_QUEUE_MAX / 2;
	ch->stalled &= !stalled;
	pthread_mutex_unlock(&ch->lock);
	if (stalled)
		wake(ch);
	if (len > 0)
		line[len - 1] = '\0';
	return len > 0;
}

static uint64_t age(uint64_t now_ms, uint64_t then_ms)
{
	return then_ms != 0 ? now_ms - then_ms : UINT64_MAX;
}

static bool is_late(const struct followed *f, uint64_t now_ms)
{
	return f->reached < f->amount && now_ms - f->mark_ms > LATE_MS;
}

static enum channel_phase phase_of(const struct channel *ch, uint64_t now_ms)
{
	if (ch->epoch != 0 && is_late(&ch->beat, now_ms))
		return CHANNEL_ONE_WAY;
	if (ch->epoch != 0)
		return is_late(&ch->sent, now_ms) || is_late(&ch->received, now_ms)
			       ? CHANNEL_SYNCING
			       : CHANNEL_IN_SYNC;
	if (age(now_ms, ch->refused_ms) < REFUSE_MS)
		return CHANNEL_REFUSED;
	return age(now_ms, ch->deaf_ms) < BEACON_MS ? CHANNEL_ONE_WAY : CHANNEL_CONNECTING;
}

void channel_state(struct channel *ch, struct channel_state *s)
{
	uint64_t now_ms;

	pthread_mutex_lock(&ch->lock);
	now_ms = channel_now_ms(); // no earlier than times noted by the thread
	*s = (struct channel_state){
		.phase = phase_of(ch, now_ms),
		.epoch = ch->epoch,
		.since_ms = now_ms - ch->since_ms,
		.received_ms = age(now_ms, ch->received_ms),
		.confirmed_ms = age(now_ms, ch->beat.mark_ms),
		.sent = ch->sent.amount,
		.sent_taken = ch->sent.reached,
		.received = ch->received.amount,
		.received_taken = ch->received.reached,
		.sent_late = ch->epoch != 0 && is_late(&ch->sent, now_ms),
		.received_late = ch->epoch != 0 && is_late(&ch->received, now_ms),
		.strangers = ch->strangers,
		.failures = ch->failures,
		.peer = ch->peer,
	};
	if (ch->peer.member != 0)
		pair_config_compare(s->config, sizeof(s->config), ch->config, ch->peer.config);
	strcpy(s->error, s->phase == CHANNEL_ONE_WAY && s->epoch == 0
				 ? "the other gateway receives nothing from this one"
				 : ch->error);
	pthread_mutex_unlock(&ch->lock);
}
