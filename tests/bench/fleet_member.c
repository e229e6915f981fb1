// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_member.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control_parts.h"
#include "die.h"
#include "etcd.h"
#include "fleet.h"
#include "fleet_parts.h"
#include "fleet_traffic.h"
#include "harness.h"
#include "idle_ports.h"
#include "numbers.h"
#include "role.h"

// As in app/culvertd/control_thread.c, but for the rest, of which fifty members would take a CPU
#define REST_US 10000
#define TICK_MS 100

#define TRAFFIC_MS 50

static struct control control = {.lock = PTHREAD_MUTEX_INITIALIZER};
static unsigned int number; // of this member
static struct fleet_shared *shared;
static enum fleet_count asked;

// --- control_io: ports that send nothing ---

static bool io_send(void *arg, uint16_t port, struct rte_mbuf *m)
{
	(void)arg, (void)port;
	rte_pktmbuf_free(m);
	return true;
}

static void io_listen(void *arg, uint16_t port, const struct ip_addr group[], unsigned int n)
{
	(void)arg, (void)port, (void)group, (void)n;
}

static uint64_t io_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static const struct control_io io = {.send = io_send,
	.listen = io_listen,
	.has_link = idle_has_link,
	.active = idle_active,
	.link = idle_link,
	.now_ms = io_now_ms,
	.boot_ms = io_now_ms};

// --- counts of requests ---

void __real_etcd_ask(struct etcd *e, enum etcd_call call, char *body);
void __wrap_etcd_ask(struct etcd *e, enum etcd_call call, char *body);
bool __real_etcd_take(struct etcd *e, char **text, char error[ETCD_ERROR_MAX]);
bool __wrap_etcd_take(struct etcd *e, char **text, char error[ETCD_ERROR_MAX]);

static void count(enum fleet_count what, uint64_t n)
{
	atomic_fetch_add(&shared->member[number].count[what], n);
}

void __wrap_etcd_ask(struct etcd *e, enum etcd_call call, char *body)
{
	asked = COUNT_LEASES;
	if (call == ETCD_TXN && strstr(body, "\"count_only\"") != NULL)
		asked = COUNT_POLLS;
	else if (call == ETCD_TXN && strstr(body, "\"range_end\"") != NULL)
		asked = COUNT_READS;
	else if (call == ETCD_TXN && strstr(body, "\"LEASE\"") != NULL)
		asked = COUNT_WRITES;
	count(asked, 1);
	count(COUNT_SENT, strlen(body));
	__real_etcd_ask(e, call, body);
}

bool __wrap_etcd_take(struct etcd *e, char **text, char error[ETCD_ERROR_MAX])
{
	if (!__real_etcd_take(e, text, error))
		return false;
	if (*text != NULL)
		count(COUNT_RECEIVED, strlen(*text));
	if (*text != NULL && asked == COUNT_WRITES && strstr(*text, "\"succeeded\":true") == NULL)
		count(COUNT_WRITES_FAILED, 1);
	return true;
}

// --- the member ---

// Members list endpoints in different orders, or all of them would ask the first one.
static void endpoints_turn(struct conf *conf)
{
	char *first = conf->fleet_endpoints[0];
	unsigned int n = conf->n_fleet_endpoints;

	memmove(&conf->fleet_endpoints[0], &conf->fleet_endpoints[1], (n - 1) * sizeof(first));
	conf->fleet_endpoints[n - 1] = first;
}

static void prepare(struct conf *conf)
{
	if (harness_start(NULL) < 0)
		die("no memory for packet buffers");
	conf->fleet_member = number;
	snprintf(conf->instance, sizeof(conf->instance), "member-%u", number);
	for (unsigned int i = 0; i < number; i++)
		endpoints_turn(conf);
	control.io = &io;
	control.conf = conf;
	control.version = "0";
	control.pool = harness_pool;
	for (unsigned int i = 0; i < conf->n_ports; i++)
		control.ports[i].mac = (struct rte_ether_addr){{2, 0, 0, 0, 1, (uint8_t)i}};
	control_parts_start(&control);
	printf("prepared %u %d %" PRIu64 "\n", number, getpid(), io_now_ms());
}

static unsigned long resident_kb(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f == NULL || fscanf(f, "%*u %lu", &pages) != 1)
		die("no /proc/self/statm");
	fclose(f);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static void connect_fleet(void)
{
	while (!shared->go)
		usleep(20000);
	printf("connects %u %lu %" PRIu64 "\n", number, resident_kb(), io_now_ms());
	if (fleet_start(&control) < 0 || fleet_connect(&control, NULL, NULL) < 0)
		die("member %u: no client of etcd", number);
}

// An order that is refused is repeated.
static void obey(void)
{
	unsigned int order = shared->member[number].order;
	const char *why;

	if (fleet_drains(&control) != shared->member[number].drain)
		fleet_drain(&control, shared->member[number].drain);
	if (order != 0 &&
		fleet_order(&control, control.groups.item[order - 1].name, CONF_ACTIVE, &why))
		shared->member[number].order = 0;
}

// Prints roles that have changed. Returns whether there are any.
static bool roles_print(enum conf_role role[])
{
	bool any = false;

	for (unsigned int i = 0; i < control.groups.n; i++) {
		const struct owned_group *g = &control.groups.item[i];

		if (g->role == role[i])
			continue;
		role[i] = g->role;
		any = true;
		printf("role %u %u %s %" PRIu64 "\n", number, i,
			g->role == CONF_ACTIVE ? "active" : "standby", io_now_ms());
	}
	return any;
}

static void serve(struct fleet_traffic *t)
{
	enum conf_role role[CONF_GROUPS_MAX];
	uint64_t tick_ms = 0, numbers_ms = 0, traffic_ms = 0;
	bool reads = false;

	for (unsigned int i = 0; i < control.groups.n; i++)
		role[i] = control.groups.item[i].role;
	while (!shared->member[number].stop) {
		uint64_t now_ms = io_now_ms();

		obey();
		fleet_tick(&control, now_ms);
		if (now_ms >= numbers_ms) {
			numbers_tick(&control, now_ms);
			numbers_ms = now_ms + shared->tick_ms;
		}
		if (now_ms >= tick_ms) {
			roles_tick(&control, now_ms);
			tick_ms = now_ms + TICK_MS;
		}
		if (roles_print(role))
			fleet_traffic_follow(t, &control);
		if (now_ms >= traffic_ms) {
			fleet_traffic_pass(t, &control, now_ms);
			traffic_ms = now_ms + TRAFFIC_MS;
		}
		if (!reads && control.fleet->keys_ms != 0)
			printf("reads %u %" PRIu64 "\n", number, io_now_ms());
		reads = control.fleet->keys_ms != 0;
		usleep(REST_US);
	}
}

_Noreturn void fleet_member_run(struct conf *conf, unsigned int member, struct fleet_shared *all)
{
	number = member;
	shared = all;
	setvbuf(stdout, NULL, _IOLBF, 0);
	prepare(conf);
	connect_fleet();
	serve(fleet_traffic_new(&control, shared, number));
	fleet_stop(&control);
	printf("stopped %u %" PRIu64 "\n", number, io_now_ms());
	_exit(EXIT_SUCCESS);
}
