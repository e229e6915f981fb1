// SPDX-License-Identifier: BSD-3-Clause
#include "health.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_mempool.h>

#include "event_log.h"
#include "gateway.h"
#include "notify.h"

#define STALLED_LOOKS 10
#define LOOK_MS       100

static uint64_t heartbeat_of(const struct gateway *g, unsigned int w)
{
	return atomic_load_explicit(&g->loops[w]->heartbeat, memory_order_relaxed);
}

// "port "lan" queue 0": what the worker was about when it stood still.
static void place_format(
	char *buf, size_t size, const struct gateway *g, const struct loop *l, uint64_t heartbeat)
{
	unsigned int place = heartbeat & LOOP_PLACE_MASK;

	if (place < l->n_rx)
		snprintf(buf, size, "frames of port \"%s\" queue %u",
			g->conf->ports[l->rx[place].port].name, l->rx[place].queue);
	else
		snprintf(buf, size, "%s",
			place == LOOP_AT_RINGS ? "frames of other workers" : "idle");
}

// The kernel's word for what the thread does ('R': it runs), and the CPU that it was on last.
static bool thread_look(pid_t tid, char *state, int *cpu)
{
	char path[64], line[512] = "";
	const char *p;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);

	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	p = fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
	fclose(f);
	// Behind the name: state is the first field, the CPU the 37th (proc(5): 3 and 39).
	return p != NULL && sscanf(p + 1,
				    " %c" // 3
				    " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				    " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				    " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
				    state, cpu) == 2;
}

static void post_stalled(const struct gateway *g, unsigned int w, uint64_t heartbeat)
{
	const struct loop *l = g->loops[w];
	char place[96], state[2] = "?";
	int cpu = 0;

	place_format(place, sizeof(place), g, l, heartbeat);
	thread_look(l->tid, state, &cpu);
	event_post(WORKER_STALLED, EVENT_NUMBER(w), EVENT_NUMBER(STALLED_LOOKS * LOOK_MS),
		EVENT_TEXT(place), EVENT_NUMBER(l->tid), EVENT_TEXT(state), EVENT_NUMBER(cpu));
}

static void look_at_worker(struct gateway *g, unsigned int w)
{
	struct health_worker *h = &g->health.worker[w];
	uint64_t heartbeat = heartbeat_of(g, w);

	if (heartbeat != h->heartbeat) {
		if (h->stalled)
			event_post(
				WORKER_RESUMED, EVENT_NUMBER(w), EVENT_NUMBER(h->quiet * LOOK_MS));
		h->heartbeat = heartbeat;
		h->quiet = 0;
		h->stalled = false;
		return;
	}
	if (++h->quiet != STALLED_LOOKS)
		return;
	h->stalled = true;
	h->stalls++;
	post_stalled(g, w, heartbeat);
}

// Only if every worker has moved since the last time.
static void feed_watchdog(struct gateway *g, uint64_t now_ms)
{
	struct health *h = &g->health;

	if (notify_watchdog_ms() == 0 || now_ms < h->watchdog_next)
		return;
	for (unsigned int w = 0; w < g->conf->n_workers; w++)
		if (h->worker[w].heartbeat == h->worker[w].fed)
			return;
	for (unsigned int w = 0; w < g->conf->n_workers; w++)
		h->worker[w].fed = h->worker[w].heartbeat;
	notify_watchdog();
	h->watchdog_next = now_ms + notify_watchdog_ms();
}

static void look_at_buffers(struct gateway *g)
{
	struct health *h = &g->health;
	uint32_t size = g->pool->size, available = rte_mempool_avail_count(g->pool);

	h->buffers_free_min = RTE_MIN(h->buffers_free_min, available);
	if (!h->buffers_short && available < size / 16)
		event_post(BUFFERS_SHORT, EVENT_NUMBER(available), EVENT_NUMBER(size));
	// Not again before there has been plenty.
	h->buffers_short = available < size / (h->buffers_short ? 8 : 16);
}

void health_start(struct gateway *g)
{
	g->health = (struct health){.buffers_free_min = g->pool->size};
}

void health_tick(struct gateway *g, uint64_t now_ms)
{
	for (unsigned int w = 0; w < g->conf->n_workers; w++)
		look_at_worker(g, w);
	feed_watchdog(g, now_ms);
	look_at_buffers(g);
}
