// SPDX-License-Identifier: BSD-3-Clause
#include "health.h"

#include <rte_mempool.h>

#include "event_log.h"

#define STALLED_CHECKS 10
#define CHECK_MS       100

static void post_stalled(struct control *c, unsigned int worker)
{
	const struct control_stall s = c->io->stall(c->io_arg, worker);

	event_post(WORKER_STALLED, EVENT_NUMBER(worker), EVENT_NUMBER(STALLED_CHECKS * CHECK_MS),
		EVENT_TEXT(s.place), EVENT_NUMBER(s.thread), EVENT_TEXT(s.state),
		EVENT_NUMBER(s.cpu));
}

static void check_worker(struct control *c, unsigned int worker)
{
	struct health_worker *h = &c->health.worker[worker];
	uint64_t heartbeat = c->io->heartbeat(c->io_arg, worker);

	if (heartbeat != h->heartbeat) {
		if (h->stalled)
			event_post(WORKER_RESUMED, EVENT_NUMBER(worker),
				EVENT_NUMBER(h->quiet * CHECK_MS));
		h->heartbeat = heartbeat;
		h->quiet = 0;
		h->stalled = false;
		return;
	}
	if (++h->quiet != STALLED_CHECKS)
		return;
	h->stalled = true;
	h->stalls++;
	post_stalled(c, worker);
}

// Only if every worker has moved since the last time.
static void feed_watchdog(struct control *c, uint64_t now_ms)
{
	struct health *h = &c->health;

	if (h->watchdog_ms == 0 || now_ms < h->watchdog_next)
		return;
	for (unsigned int w = 0; w < c->conf->n_workers; w++)
		if (h->worker[w].heartbeat == h->worker[w].fed)
			return;
	for (unsigned int w = 0; w < c->conf->n_workers; w++)
		h->worker[w].fed = h->worker[w].heartbeat;
	c->io->watchdog(c->io_arg);
	h->watchdog_next = now_ms + h->watchdog_ms;
}

static void check_buffers(struct health *h, const struct rte_mempool *pool)
{
	uint32_t size = pool->size, available = rte_mempool_avail_count(pool);

	h->buffers_free_min = RTE_MIN(h->buffers_free_min, available);
	if (!h->buffers_short && available < size / 16)
		event_post(BUFFERS_SHORT, EVENT_NUMBER(available), EVENT_NUMBER(size));
	// Not again before there has been plenty.
	h->buffers_short = available < size / (h->buffers_short ? 8 : 16);
}

void health_start(struct control *c, uint32_t watchdog_ms)
{
	c->health = (struct health){.watchdog_ms = watchdog_ms, .buffers_free_min = c->pool->size};
}

void health_tick(struct control *c, uint64_t now_ms)
{
	for (unsigned int w = 0; w < c->conf->n_workers; w++)
		check_worker(c, w);
	feed_watchdog(c, now_ms);
	check_buffers(&c->health, c->pool);
}
