// SPDX-License-Identifier: BSD-3-Clause
#include "control_thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_launch.h>

#include "configure.h"
#include "events.h"
#include "health.h"
#include "host_thread.h"
#include "log.h"
#include "metrics.h"
#include "notify.h"
#include "port_flow.h"
#include "port_groups.h"
#include "port_link.h"
#include "reopen.h"
#include "request.h"
#include "wall_clock.h"

#define TICK_MS 100
#define WAIT    (&(struct timespec){.tv_nsec = 1000000})

uint64_t gateway_now_ms(void)
{
	return rte_rdtsc() / (rte_get_tsc_hz() / 1000);
}

uint64_t gateway_held(const struct gateway *g)
{
	uint64_t held = host_thread_held(g->host);

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		held += loop_held(g->loops[i]);
	return held;
}

// Worker 0 has a TX queue on every port.
static bool io_send(void *arg, uint16_t port, struct rte_mbuf *m)
{
	const struct gateway *g = arg;

	return loop_send(g->loops[0], port, m);
}

static void io_listen(void *arg, uint16_t port, const struct ip_addr group[], unsigned int n)
{
	struct gateway *g = arg;

	port_listen(&g->ports[port], group, n);
}

static bool io_has_link(void *arg, uint16_t port)
{
	struct gateway *g = arg;

	return port_has_link(&g->ports[port]);
}

// Where the worker has stalled: "frames of port "lan" queue 0".
static void place_format(char *buf, size_t size, const struct loop *l)
{
	unsigned int place =
		atomic_load_explicit(&l->heartbeat, memory_order_relaxed) & LOOP_PLACE_MASK;

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

static void io_link(void *arg, uint16_t port, bool up)
{
	const struct gateway *g = arg;

	host_thread_link(g->host, port, up);
}

static struct counters io_counters(void *arg)
{
	const struct gateway *g = arg;

	return host_thread_counters(g->host);
}

static uint64_t io_heartbeat(void *arg, unsigned int worker)
{
	const struct gateway *g = arg;

	return atomic_load_explicit(&g->loops[worker]->heartbeat, memory_order_relaxed);
}

static struct control_stall io_stall(void *arg, unsigned int worker)
{
	const struct gateway *g = arg;
	const struct loop *l = g->loops[worker];
	struct control_stall s = {.state = "?", .thread = l->tid};

	place_format(s.place, sizeof(s.place), l);
	thread_read(l->tid, s.state, &s.cpu);
	return s;
}

static void io_watchdog(void *arg)
{
	(void)arg;
	notify_watchdog();
}

const struct control_io control_thread_io = {
	.send = io_send,
	.listen = io_listen,
	.has_link = io_has_link,
	.link = io_link,
	.counters = io_counters,
	.now_ms = gateway_now_ms,
	.heartbeat = io_heartbeat,
	.stall = io_stall,
	.watchdog = io_watchdog,
};

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

void control_thread_block_signals(void)
{
	sigset_t set;

	wanted_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

// With the gateway's lock.
static void tick(struct gateway *g, uint64_t now_ms)
{
	reopen_tick(g);
	health_tick(&g->control, now_ms);
	events_tick(&g->control, now_ms);
	host_thread_tick(g->host, g->control.conf);
	reserve_tick(g->reserve, g->control.snapshot, now_ms);
	tracing_tick(&g->tracing, &g->control, now_ms);
	wall_clock_tick(now_ms);
	for (unsigned int i = 0; i < g->control.conf->n_ports; i++)
		if (port_is_open(&g->ports[i]))
			port_flow_tick(g->ports[i].rules, g->ports[i].conf, g->control.snapshot);
}

void control_thread_run(struct gateway *g)
{
	struct control *c = &g->control;
	uint64_t next_tick = 0;
	sigset_t set;
	int sig;

	wanted_signals(&set);
	events_start(c);
	do {
		bool over = configure_over(c);
		uint64_t now;

		pthread_mutex_lock(&g->control.lock);
		now = gateway_now_ms(); // no earlier than what other threads have noted
		events_drain(c, now);
		reserve_collect(g->reserve, c->snapshot, now);
		if (now >= next_tick) {
			tick(g, now);
			next_tick = now + TICK_MS;
		}
		if (over)
			configure_retire(c);
		pthread_mutex_unlock(&g->control.lock);
		sig = sigtimedwait(&set, NULL, WAIT);
		request_tick(sig == SIGHUP, now);
		metrics_tick(now);
		flow_table_fill(c->flows);
	} while (sig < 0 || sig == SIGHUP);
	notify_stopping();
	listener_leave(c->listener);
	log_info("stopping on %s", sig == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void enter_phase(struct gateway *g, enum loop_phase phase)
{
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		atomic_store_explicit(&g->loops[i]->phase, phase, memory_order_release);
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		while (atomic_load_explicit(&g->loops[i]->reached, memory_order_acquire) != phase)
			nanosleep(WAIT, NULL);
}

void control_thread_stop_workers(struct gateway *g)
{
	// While they drain, a worker may still hand frames to one that has none left: twice.
	enter_phase(g, LOOP_DRAIN);
	enter_phase(g, LOOP_STOP);
	rte_eal_mp_wait_lcore();
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		loop_stop(g->loops[i]);
}
