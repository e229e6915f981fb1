// SPDX-License-Identifier: BSD-3-Clause
#include "control_thread.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>

#include "announced.h"
#include "announced_route.h"
#include "bond.h"
#include "collector.h"
#include "configure.h"
#include "device_thread.h"
#include "events.h"
#include "fleet.h"
#include "flow_export.h"
#include "frozen.h"
#include "health.h"
#include "host_guests.h"
#include "host_thread.h"
#include "route_follow.h"
#include "lists.h"
#include "log.h"
#include "member.h"
#include "member_lines.h"
#include "metrics.h"
#include "notify.h"
#include "port.h"
#include "port_change.h"
#include "reopen.h"
#include "request.h"
#include "retire.h"
#include "tracing.h"
#include "wall_clock.h"

#define TICK_MS 100
#define BUSY_MS 1 // longest wait after a round with something to do
#define REST_MS 5 // after another one: events of workers end no wait, but waking costs CPU time

uint64_t gateway_now_ms(void)
{
	return rte_rdtsc() / (rte_get_tsc_hz() / 1000);
}

static uint64_t io_boot_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t io_held(void *arg)
{
	const struct gateway *g = arg;
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

	struct port *p = &g->ports[port];

	port_listen(p, group, n);
	if (g->control.started_ms != 0)
		device_thread_listen(); // drivers may need capabilities
	else if (port_is_open(p))
		port_groups_set(p->parent != NULL ? p->parent : p);
}

static bool io_has_link(void *arg, uint16_t port)
{
	struct gateway *g = arg;

	return port_has_link(&g->ports[port]);
}

static uint32_t io_active(void *arg, uint16_t port)
{
	const struct gateway *g = arg;
	const struct port *device = port_device(&g->ports[port]);

	return device->bond != NULL && port_is_open(device) ? bond_active(device->bond) : 0;
}

// Where the worker has stalled: "frames of port "lan" queue 0".
static void place_format(char *buf, size_t size, const struct loop *l)
{
	unsigned int place =
		atomic_load_explicit(&l->heartbeat, memory_order_relaxed) & LOOP_PLACE_MASK;

	if (place < loop_n_rx(l) && loop_queue_port(&l->rx[place]) != LOOP_NO_PORT)
		snprintf(buf, size, "frames of port \"%s\" queue %u",
			l->ports[loop_queue_port(&l->rx[place])].conf->name, l->rx[place].queue);
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
	// After the name: state is the first field, the CPU the 37th (proc(5): 3 and 39).
	return p != NULL && sscanf(p + 1,
				    " %c" // 3
				    " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				    " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				    " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
				    state, cpu) == 2;
}

static void io_link(void *arg, uint16_t port, bool up)
{
	struct gateway *g = arg;

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

static void io_announce(void *arg, const struct ip_prefix to[], unsigned int n)
{
	(void)arg;
	announced_routes_want(to, n);
	device_thread_announce();
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
	.active = io_active,
	.link = io_link,
	.counters = io_counters,
	.now_ms = gateway_now_ms,
	.boot_ms = io_boot_ms,
	.heartbeat = io_heartbeat,
	.stall = io_stall,
	.watchdog = io_watchdog,
	.held = io_held,
	.device_counters = lists_device_counters,
	.export_send = collector_send,
	.announce = io_announce,
};

static void io_queues_add(void *arg, uint16_t port)
{
	const struct gateway *g = arg;

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		loop_queues_add(g->loops[i], port);
}

static void io_queues_remove(void *arg, uint16_t port)
{
	const struct gateway *g = arg;

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		loop_queues_remove(g->loops[i], port);
}

static void io_queues_assign(void *arg, uint16_t port)
{
	const struct gateway *g = arg;

	loops_queues_assign(g->loops, g->control.conf->n_workers, g->ports, port);
}

static void io_queues_forget(void *arg, uint16_t port)
{
	const struct gateway *g = arg;

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		loop_queues_forget(g->loops[i], port);
}

static uint64_t io_refused(void *arg, uint16_t port)
{
	const struct gateway *g = arg;
	uint64_t refused = 0;

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		refused += g->loops[i]->refused[port];
	return refused;
}

const struct reopen_io control_thread_reopen_io = {
	.queues_add = io_queues_add,
	.queues_remove = io_queues_remove,
	.queues_assign = io_queues_assign,
	.queues_forget = io_queues_forget,
	.refused = io_refused,
};

static int signals = -1; // the descriptor from which they are read

int control_thread_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals >= 0)
		return 0;
	log_error("cannot receive signals: %s", strerror(errno));
	return -errno;
}

// Waits for a signal or a client, for at most that many milliseconds. Returns the signal; -1: none.
static int wait_for_work(int ms)
{
	struct pollfd fds[1 + REQUEST_SOCKETS] = {{.fd = signals, .events = POLLIN}};
	struct signalfd_siginfo info;

	request_sockets(&fds[1]);
	if (poll(fds, RTE_DIM(fds), ms) <= 0 || fds[0].revents == 0 ||
		read(signals, &info, sizeof(info)) != sizeof(info))
		return -1;
	return (int)info.ssi_signo;
}

// With the gateway's lock.
static void tick(struct gateway *g, uint64_t now_ms)
{
	bool hosts;

	reopen_tick();
	health_tick(&g->control, now_ms);
	events_tick(&g->control, now_ms);
	hosts = host_thread_tick(g->host, &g->control);
	if (host_guests_tick(&g->control) || hosts)
		device_thread_hosts_change();
	announced_tick(&g->control, now_ms);
	member_lines_tick(&g->control, now_ms);
	reserve_tick(g->reserve, g->control.snapshot, now_ms);
	tracing_tick(&g->control, now_ms);
	wall_clock_tick(now_ms);
	port_change_tick(&g->control, now_ms);
	member_tick(&g->control, now_ms);
	for (unsigned int i = 0; i < g->control.conf->n_ports; i++)
		if (port_is_open(&g->ports[i]))
			device_thread_steer(i, g->control.snapshot);
}

// Returns whether there was something to do.
static bool handle_events(struct gateway *g, uint64_t now_ms, uint64_t *next_tick)
{
	struct control *c = &g->control;
	bool over = configure_grace_over(c), handled = events_drain(c, now_ms);

	reserve_collect(g->reserve, c->snapshot, now_ms);
	flow_table_tick(c->flows);
	handled |= flow_export_tick(c, now_ms);
	fleet_tick(c, now_ms);
	if (now_ms >= *next_tick) {
		tick(g, now_ms);
		*next_tick = now_ms + TICK_MS;
	}
	if (c->retired == NULL) // the routes of a new configuration come first
		handled |= route_follow_tick(c, now_ms);
	if (over)
		configure_retire(c);
	if (c->sas_leaving > 0) // the next request waits for it
		retire_tick(c);
	return handled || c->retired != NULL || c->sas_leaving > 0;
}

void control_thread_run(struct gateway *g)
{
	uint64_t next_tick = 0;
	bool busy = true;
	int sig;

	events_start(&g->control);
	do {
		uint64_t now;

		sig = wait_for_work(busy ? BUSY_MS : REST_MS);
		pthread_mutex_lock(&g->control.lock);
		frozen_round(&g->control);
		now = gateway_now_ms(); // no earlier than times noted by other threads
		busy = handle_events(g, now, &next_tick);
		pthread_mutex_unlock(&g->control.lock);
		busy |= request_tick(sig == SIGHUP, now);
		metrics_tick(now);
		busy |= flow_table_fill(g->control.flows);
	} while (sig < 0 || sig == SIGHUP);
	notify_stopping();
	pthread_mutex_lock(&g->control.lock);
	announced_stop(&g->control);
	pthread_mutex_unlock(&g->control.lock);
	listener_leave(g->control.listener);
	log_info("stopping on %s", sig == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void enter_phase(struct gateway *g, enum loop_phase phase)
{
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		atomic_store_explicit(&g->loops[i]->phase, phase, memory_order_release);
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		while (atomic_load_explicit(&g->loops[i]->reached, memory_order_acquire) != phase) {
			pthread_mutex_lock(&g->control.lock);
			frozen_round(&g->control);
			pthread_mutex_unlock(&g->control.lock);
			rte_delay_us_sleep(1000);
		}
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
