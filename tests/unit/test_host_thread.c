// SPDX-License-Identifier: BSD-3-Clause
// Which interfaces of hosts the thread has after a change, with interfaces of the test: sockets.
#include "host_thread.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mempool.h>

#include "eal.h"
#include "event_log.h"
#include "host_iface.h"
#include "host_route.h"
#include "test.h"

static struct worker worker;
static struct conf_port port;
static struct conf conf = {.n_workers = 1, .n_ports = 1, .ports = &port};
static struct control control = {.conf = &conf, .lock = PTHREAD_MUTEX_INITIALIZER};
static struct host_thread *thread;

// --- interfaces ---

static struct host_iface wanted[HOSTS_MAX];
static int peer[HOSTS_MAX]; // the other end of the socket
static unsigned int n_opened[HOSTS_MAX], n_set[HOSTS_MAX], n_closed[HOSTS_MAX], mtu[HOSTS_MAX];
static const char *named[HOSTS_MAX]; // open interfaces
static bool runs, fails, refuses, carrier, gone[HOSTS_MAX];

struct host_iface host_iface_wanted(const struct conf *c, const struct snapshot *s, unsigned int i)
{
	(void)s;
	assert_ptr_equal(c, &conf);
	// Both may be replaced at any time, after the start.
	if (runs)
		assert_int_equal(pthread_mutex_trylock(&control.lock), EBUSY);
	return wanted[i];
}

int host_iface_open(unsigned int host, const struct host_iface *i)
{
	int fds[2];

	for (unsigned int k = 0; k < HOSTS_MAX; k++)
		fails |= named[k] != NULL && strcmp(named[k], i->name) == 0;
	if (fails)
		return -EIO;
	assert_string_equal(i->name, wanted[host].name);
	named[host] = i->name;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds), 0);
	n_opened[host]++;
	peer[host] = fds[1];
	return fds[0];
}

int host_iface_set(unsigned int host, const struct host_iface *i)
{
	n_set[host]++;
	mtu[host] = i->mtu;
	return refuses && host == PORTS_MAX ? -EIO : 0;
}

bool host_iface_exists(unsigned int host)
{
	return !gone[host];
}

void host_iface_closed(unsigned int host)
{
	char octet;

	assert_int_equal(recv(peer[host], &octet, 1, 0), -1); // nothing is left, and
	assert_int_equal(send(peer[host], &octet, 1, 0), -1); // the other end is closed
	close(peer[host]);
	named[host] = NULL;
	n_closed[host]++;
}

void host_routes_set(const struct conf *c)
{
	(void)c;
}

void host_iface_carrier(int fd, bool up)
{
	(void)fd;
	carrier = up;
}

// --- the thread ---

static int confine(void *arg)
{
	(void)arg;
	return 0;
}

static void wake_worker(void *arg, unsigned int n)
{
	(void)arg;
	(void)n;
}

#define FIRST PORTS_MAX // number of the first host of a tunnel
#define TUNNEL                                                                                     \
	{                                                                                          \
		.name = "tun", .owner = "t", .kind = "tunnel", .is_tunnel = true, .mtu = 1400      \
	}

static int begin(void **state)
{
	static char name[] = "tap";

	(void)state;
	eal_start();
	control.workers[0] = &worker;
	control.pool = rte_pktmbuf_pool_create("test", 63, 0, 0, 2048, SOCKET_ID_ANY);
	port.host = name;
	wanted[0] = (struct host_iface){.name = name, .owner = "lan", .kind = "port", .mtu = 1500};
	if (control.pool == NULL || host_thread_open(&thread, &control) < 0)
		return -1;
	runs = true;
	return host_thread_start(thread, &control,
		&(struct host_thread_io){.confine = confine, .wake = wake_worker});
}

static int end(void **state)
{
	(void)state;
	host_thread_close(thread);
	eal_stop();
	return 0;
}

static void change(void)
{
	host_thread_change(thread);
}

static bool tick(void)
{
	bool changed;

	pthread_mutex_lock(&control.lock);
	changed = host_thread_tick(thread, &control);
	pthread_mutex_unlock(&control.lock);
	return changed;
}

static void test_comes_and_goes(void **state)
{
	(void)state;
	assert_int_equal(n_opened[0], 1);
	for (unsigned int i = 1; i <= 3; i++) {
		wanted[FIRST] = (struct host_iface)TUNNEL;
		change();
		assert_int_equal(n_opened[FIRST], i);
		assert_non_null(worker.to_host[FIRST]);
		wanted[FIRST].name = NULL;
		change();
		assert_int_equal(n_closed[FIRST], i);
	}
	assert_int_equal(n_opened[0], 1); // the other one stays
	assert_int_equal(n_closed[0], 0);
	assert_int_equal(n_set[0], 7);
}

static void test_another_name(void **state)
{
	unsigned int before = n_opened[FIRST];

	(void)state;
	wanted[FIRST] = (struct host_iface)TUNNEL;
	change();
	wanted[FIRST].name = "other";
	change();
	assert_int_equal(n_opened[FIRST], before + 2);
	wanted[FIRST].name = NULL;
	change();
}

// Packets for the kernel that the thread has given it or dropped.
static uint64_t n_taken(void)
{
	const struct counters c = host_thread_counters(thread);

	return c.local + c.drops[DROP_HOST_DOWN];
}

// Packets have the generation of their host, so that none goes to or comes from the one of another
// tunnel which had the number before.
static void test_another_tunnel(void **state)
{
	struct rte_mbuf *m = NULL;
	uint64_t before;
	char text[8];

	(void)state;
	for (uint32_t since = 5; since <= 6; since++) {
		wanted[FIRST] = (struct host_iface)TUNNEL;
		wanted[FIRST].since = since;
		change();
		assert_int_equal(send(peer[FIRST], "from", 5, 0), 5);
		for (unsigned int i = 0;
			i < 5000 && rte_ring_dequeue(worker.from_host, (void **)&m) < 0; i++)
			usleep(1000);
		assert_int_equal(m->hash.usr, since);
		before = n_taken();
		m->hash.usr = 5; // of the first one
		assert_int_equal(rte_ring_enqueue(worker.to_host[FIRST], m), 0);
		worker.host_wake(worker.host_wake_arg);
		for (unsigned int i = 0; i < 5000 && n_taken() == before; i++)
			usleep(1000);
		assert_int_equal(recv(peer[FIRST], text, sizeof(text), 0), since == 5 ? 5 : -1);
	}
	wanted[FIRST].name = NULL;
	change();
}

static void test_names_are_exchanged(void **state)
{
	unsigned int before = n_opened[FIRST];

	(void)state;
	wanted[FIRST] = wanted[FIRST + 1] = (struct host_iface)TUNNEL;
	wanted[FIRST + 1].name = "other";
	change();
	wanted[FIRST].name = "other";
	wanted[FIRST + 1].name = "tun";
	change();
	assert_int_equal(n_opened[FIRST], before + 2);
	assert_int_equal(n_opened[FIRST + 1], 2);
	wanted[FIRST].name = wanted[FIRST + 1].name = NULL;
	change();
}

static uint64_t n_events(enum event_id id)
{
	uint64_t counts[EVENT_IDS];

	event_log_counts(counts);
	return counts[id];
}

// An interface, or an address, is tried again after twice as long each time, with one event.
static void test_refused_by_the_kernel(void **state)
{
	const unsigned int opened = n_opened[FIRST];
	unsigned int ticks, before = 0;

	(void)state;
	wanted[FIRST] = (struct host_iface)TUNNEL;
	for (unsigned int i = 0; i < 12; i++) {
		fails = i < 6;
		refuses = !fails;
		change();
		assert_int_equal(n_opened[FIRST], opened + !fails);
		for (ticks = 1; !tick(); ticks++)
			assert_string_equal(control.hosts[FIRST].state, "refused");
		assert_in_range(ticks, RTE_MIN(2 * before, 3000u), 3000);
		before = ticks;
	}
	assert_int_equal(before, 3000);
	assert_int_equal(n_events(EVENT_HOST_REFUSED), 1);
	fails = refuses = false;
	change();
	for (ticks = 0; ticks < 4000; ticks++)
		assert_false(tick());
	assert_string_equal(control.hosts[FIRST].state, "ready");
	assert_string_equal(control.hosts[FIRST].name, "tun");
}

// Another tunnel that gets the number is tried at once, and has an event of its own.
static void test_refused_to_another_tunnel(void **state)
{
	const uint64_t before = n_events(EVENT_HOST_REFUSED);

	(void)state;
	fails = true;
	for (uint32_t since = 1; since <= 2; since++) {
		wanted[FIRST].since = since;
		change();
		assert_false(tick());
		assert_int_equal(n_events(EVENT_HOST_REFUSED), before + since);
		wanted[FIRST].name = NULL;
		assert_false(tick());
		wanted[FIRST].name = "tun";
	}
	fails = false;
	wanted[FIRST].since = 0;
	change();
}

// It is made again after the event.
static void test_deleted(void **state)
{
	const unsigned int before = n_opened[FIRST];

	(void)state;
	gone[FIRST] = true;
	change();
	assert_int_equal(n_opened[FIRST], before);
	assert_true(tick());
	gone[FIRST] = false;
	change();
	assert_int_equal(n_opened[FIRST], before + 1);
	assert_int_equal(n_events(EVENT_HOST_LOST), 1);
	assert_false(tick());
}

static void test_state_and_mtu(void **state)
{
	(void)state;
	assert_false(tick());
	assert_true(carrier);
	wanted[FIRST].is_down = true;
	assert_false(tick());
	assert_false(carrier);
	wanted[FIRST].mtu = 1300;
	assert_true(tick());
	change();
	assert_int_equal(mtu[FIRST], 1300);
	wanted[FIRST].mtu = 0; // no SA for a time
	assert_false(tick());
	change();
	assert_int_equal(mtu[FIRST], 1300);
	assert_false(tick());
}

static void test_packets(void **state)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(control.pool), *got = NULL;
	char text[8] = "";

	(void)state;
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, 4), "to\0", 4);
	m->hash.usr = wanted[FIRST].since;
	assert_int_equal(rte_ring_enqueue(worker.to_host[FIRST], m), 0);
	worker.host_wake(worker.host_wake_arg);
	for (unsigned int i = 0; i < 5000 && recv(peer[FIRST], text, sizeof(text), 0) < 0; i++)
		usleep(1000);
	assert_string_equal(text, "to");
	assert_int_equal(send(peer[FIRST], "from", 5, 0), 5);
	for (unsigned int i = 0; i < 5000 && rte_ring_dequeue(worker.from_host, (void **)&got) < 0;
		i++)
		usleep(1000);
	assert_non_null(got);
	assert_string_equal(rte_pktmbuf_mtod(got, char *), "from");
	assert_int_equal(got->port, FIRST);
	rte_pktmbuf_free(got);
	tick();
	assert_int_equal(control.hosts[FIRST].to, 1);
	assert_int_equal(control.hosts[FIRST].from, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comes_and_goes),
		cmocka_unit_test(test_another_name),
		cmocka_unit_test(test_another_tunnel),
		cmocka_unit_test(test_names_are_exchanged),
		cmocka_unit_test(test_refused_by_the_kernel),
		cmocka_unit_test(test_refused_to_another_tunnel),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_state_and_mtu),
		cmocka_unit_test(test_packets),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
