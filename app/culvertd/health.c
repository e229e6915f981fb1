// SPDX-License-Identifier: BSD-3-Clause
#include "health.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_mempool.h>

#include "event_log.h"
#include "notify.h"

#define STALLED_CHECKS 10
#define CHECK_MS       100

// Where the worker has stalled: "frames of port "lan" queue 0".
static void place_format(char *buf, size_t size, const struct loop *l, uint64_t heartbeat)
{
	unsigned int place = heartbeat & LOOP_PLACE_MASK;

	if (place < l->n_rx)
		snprintf(buf, size, "frames of port \"%s\" queue %u",
			l->ports[l->rx[place].port].conf->name, l->rx[place].queue);
	else
		snprintf(buf, size, "%s",
			place == LOOP_AT_RINGS ? "frames of other workers" : "idle");
}

// The state of the thread as the kernel shows it ('R': it runs), and its last CPU.
static bool thread_read(pid_t tid, char *state, int *cpu)
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

static void post_stalled(const struct loop *l, uint64_t heartbeat)
{
	char place[96], state[2] = "?";
	int cpu = 0;

	place_format(place, sizeof(place), l, heartbeat);
	thread_read(l->tid, state, &cpu);
	event_post(WORKER_STALLED, EVENT_NUMBER(l->worker->id),
		EVENT_NUMBER(STALLED_CHECKS * CHECK_MS), EVENT_TEXT(place), EVENT_NUMBER(l->tid),
		EVENT_TEXT(state), EVENT_NUMBER(cpu));
}

static void check_worker(struct health_worker *h, const struct loop *l)
{
	uint64_t heartbeat = atomic_load_explicit(&l->heartbeat, memory_order_relaxed);

	if (heartbeat != h->heartbeat) {
		if (h->stalled)
			event_post(WORKER_RESUMED, EVENT_NUMBER(l->worker->id),
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
	post_stalled(l, heartbeat);
}

// Only if every worker has moved since the last time.
static void feed_watchdog(struct health *h, uint64_t now_ms)
{
	if (notify_watchdog_ms() == 0 || now_ms < h->watchdog_next)
		return;
	for (unsigned int w = 0; w < h->n_workers; w++)
		if (h->worker[w].heartbeat == h->worker[w].fed)
			return;
	for (unsigned int w = 0; w < h->n_workers; w++)
		h->worker[w].fed = h->worker[w].heartbeat;
	notify_watchdog();
	h->watchdog_next = now_ms + notify_watchdog_ms();
}

static void check_buffers(struct health *h)
{
	uint32_t size = h->pool->size, available = rte_mempool_avail_count(h->pool);

	h->buffers_free_min = RTE_MIN(h->buffers_free_min, available);
	if (!h->buffers_short && available < size / 16)
		event_post(BUFFERS_SHORT, EVENT_NUMBER(available), EVENT_NUMBER(size));
	// Not again before there has been plenty.
	h->buffers_short = available < size / (h->buffers_short ? 8 : 16);
}

void health_start(struct health *h, struct loop *const loops[], unsigned int n,
	const struct rte_mempool *pool)
{
	*h = (struct health){
		.loops = loops, .n_workers = n, .pool = pool, .buffers_free_min = pool->size};
}

void health_tick(struct health *h, uint64_t now_ms)
{
	for (unsigned int w = 0; w < h->n_workers; w++)
		check_worker(&h->worker[w], h->loops[w]);
	feed_watchdog(h, now_ms);
	check_buffers(h);
}
