// SPDX-License-Identifier: BSD-3-Clause
// Attempts and reports of the thread that opens devices, with devices, a bus and a clock of the
// test.
#include <errno.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "announced_route.h"
#include "capability.h"
#include "device_thread.h"
#include "flow_card.h"
#include "host_route.h"
#include "host_thread.h"
#include "log.h"
#include "device_bus.h"
#include "port.h"
#include "port_try.h"
#include "test.h"
#include "device_watch.h"

enum { CARD, TAP, BROKEN_CARD, N_PORTS };

static struct conf_port conf_ports[N_PORTS] = {
	[CARD] = {.name = "card", .device = "0000:01:00.0", .devices = CARD},
	[TAP] = {.name = "tap", .device = "net_tap0,iface=tap0", .devices = TAP},
	[BROKEN_CARD] = {.name = "broken", .device = "0000:02:00.0", .devices = BROKEN_CARD},
};
static struct conf conf = {
	.ports = conf_ports, .n_ports = N_PORTS, .devices = conf_ports, .n_devices = N_PORTS};
static struct snapshot_port snapshot_ports[N_PORTS];
static struct snapshot snapshot = {.port = snapshot_ports};
static struct port ports[N_PORTS];

// --- results for the thread ---

static atomic_uint now_ms = 5000;
static atomic_bool on_bus = true, opens = true, hangs;
static atomic_uint n_looks, n_opened[N_PORTS], n_closed[N_PORTS], n_restarted, n_reported;

static uint64_t io_now_ms(void)
{
	return now_ms;
}

static const struct control_io io = {.now_ms = io_now_ms};
static struct control control = {
	.io = &io, .conf = &conf, .snapshot = &snapshot, .lock = PTHREAD_MUTEX_INITIALIZER};

bool device_is_on_bus(const char *device)
{
	(void)device;
	n_looks++;
	return on_bus;
}

bool port_is_present(const struct conf *c, const struct conf_port *port)
{
	(void)c, (void)port;
	return on_bus;
}

void host_routes_set(const struct conf *c)
{
	(void)c;
}

static atomic_uint n_taken, n_given;

void announced_routes_take(void)
{
	n_taken++;
}

void announced_routes_give(const struct conf *c)
{
	assert_ptr_equal(c, &conf);
	n_given++;
}

static atomic_uint n_hosts;

void host_thread_change(struct host_thread *h)
{
	assert_ptr_equal(h, &n_hosts);
	n_hosts++;
}

int port_open(struct port *p, const struct conf *c, const struct conf_port *port,
	struct rte_mempool *pool)
{
	(void)p, (void)c, (void)pool;
	if (!opens && !log_is_muted())
		n_reported++;
	n_opened[port - conf_ports]++;
	while (hangs)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return opens ? 0 : -EIO;
}

static atomic_uint n_dropped, n_dropped_open;

int port_try(struct port *p, const struct conf *c, unsigned int number, struct rte_mempool *pool)
{
	*p = (struct port){.conf = &c->ports[number], .n_rx = 3};
	if (port_open(p, c, &c->ports[number], pool) == 0)
		return 0;
	log_error("port \"%s\": it is broken", c->ports[number].name);
	return -EIO;
}

void port_drop(const struct port *p, unsigned int number)
{
	(void)number;
	n_dropped_open += p != NULL;
	n_dropped++;
}

void port_close(const struct port *p)
{
	n_closed[p->conf - conf_ports]++;
}

void vhost_link_settle(uint16_t id)
{
	(void)id;
	n_restarted++;
}

void port_vlans_set(struct port *p, const struct conf *c)
{
	(void)p;
	(void)c;
}

void port_groups_set(struct port *p)
{
	(void)p;
}

// --- the control thread ---

// Whether it is not too late, a millisecond later.
static bool wait_on(void)
{
	static unsigned int waits;

	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return waits++ < 60000;
}

// Waits until the thread has counted that far.
static void wait_for(atomic_uint *n, unsigned int least)
{
	while (*n < least)
		assert_true(wait_on());
}

// Waits until the thread has finished its work, and looked for a device after that.
static void wait_for_looks(void)
{
	wait_for(&n_looks, n_looks + 2);
}

static void give(unsigned int port)
{
	ports[port].conf = &conf_ports[port];
	ports[port].returns = true;
	device_thread_give(port, DEVICE_REPLACE);
}

static void take(unsigned int port)
{
	struct port opened;

	while (!device_thread_take(port, &opened))
		assert_true(wait_on());
}

static int begin(void **state)
{
	(void)state;
	return device_thread_start(&control, ports);
}

static int end(void **state)
{
	(void)state;
	return device_thread_stop() ? 0 : -1;
}

// The kernel removes it only then, and it may be on the bus for a moment.
static void test_card_leaves(void **state)
{
	(void)state;
	give(CARD);
	wait_for(&n_closed[CARD], 1);
	wait_for_looks();
	assert_int_equal(n_opened[CARD], 0);
	now_ms += 999;
	wait_for_looks();
	assert_int_equal(n_opened[CARD], 0);
	now_ms++;
	take(CARD);
	assert_int_equal(n_opened[CARD], 1);
}

static void test_tap_at_once(void **state)
{
	(void)state;
	give(TAP);
	take(TAP);
	assert_int_equal(n_closed[TAP], 1);
	assert_int_equal(n_opened[TAP], 1);
}

static void test_restart(void **state)
{
	unsigned int opened = n_opened[TAP], closed = n_closed[TAP];

	(void)state;
	device_thread_give(TAP, DEVICE_RESTART);
	take(TAP);
	assert_int_equal(n_restarted, 1);
	assert_int_equal(n_opened[TAP], opened);
	assert_int_equal(n_closed[TAP], closed);
}

// The thread alone has the capability then, and only as long as it makes rules.
static void test_steer(void **state)
{
	const struct flow_device device = {.n_rx = 4};
	const struct port_rules_use use = {.steer = true};
	struct sa_in sa = {.sa.spi = RTE_BE32(0x1001)}, *sas[] = {&sa};
	struct objects objects = {.sas = {.in = sas, .n_in = 1}};
	struct snapshot s = {.objects = &objects};
	struct port_rules *r;

	(void)state;
	if ((capabilities_get().permitted & 1ull << CAP_NET_RAW) == 0)
		skip();
	card_reset(CARD_CONNECTX_7, CARD_RULES_MAX);
	r = port_rules_new(&device, &use);
	assert_non_null(r);
	card.guarded = true;
	assert_int_equal(capabilities_drop(), 0);
	assert_int_equal(device_thread_confine(), 0);
	ports[CARD].rules = r;
	device_thread_steer(CARD, &s);
	while (r->n < 1 && !r->full)
		assert_true(wait_on());
	assert_int_equal(r->n, 1);
	assert_false(r->full);
}

// Without hosts, there is nothing to be done.
static void test_hosts(void **state)
{
	(void)state;
	device_thread_hosts_change();
	device_thread_hosts_give((struct host_thread *)&n_hosts);
	device_thread_hosts_change();
	wait_for(&n_hosts, 1);
}

// Also without hosts.
static void test_announce(void **state)
{
	unsigned int taken = n_taken;

	(void)state;
	device_thread_announce();
	wait_for(&n_taken, taken + 1);
	wait_for(&n_given, 1);
}

// Once, however often it is tried; but a card that was plugged in since is another one.
static void test_reports(void **state)
{
	(void)state;
	opens = false;
	give(BROKEN_CARD);
	wait_for(&n_closed[BROKEN_CARD], 1);
	for (unsigned int i = 1; i <= 3; i++) {
		wait_for_looks();
		now_ms += 60000;
		wait_for(&n_opened[BROKEN_CARD], i);
	}
	assert_int_equal(n_reported, 1);
	on_bus = false;
	wait_for_looks();
	on_bus = true;
	now_ms += 60000;
	wait_for(&n_opened[BROKEN_CARD], 4);
	assert_int_equal(n_reported, 2);
	opens = true;
	wait_for_looks();
	now_ms += 60000;
	take(BROKEN_CARD);
	assert_int_equal(n_reported, 2);
}

static const struct port *try(unsigned int port, const char **why)
{
	device_thread_try(port, &conf);
	while (device_thread_tries(port))
		assert_true(wait_on());
	return device_thread_tried(port, why);
}

static void drop(unsigned int port)
{
	device_thread_drop(port);
	while (device_thread_has(port))
		assert_true(wait_on());
}

// The device of a port that is added is opened before anything else changes.
static void test_try(void **state)
{
	const struct port *p;
	struct port opened;
	const char *why;

	(void)state;
	p = try(TAP, &why);
	assert_non_null(p);
	assert_int_equal(p->n_rx, 3);
	take(TAP); // the configuration is in effect
	assert_false(device_thread_has(TAP));
	assert_non_null(try(TAP, &why));
	drop(TAP); // it is discarded
	assert_int_equal(n_dropped_open, 1);
	opens = false;
	assert_null(try(TAP, &why));
	assert_string_equal(why, "port \"tap\": it is broken");
	assert_false(device_thread_has(TAP));
	assert_int_equal(n_dropped, 1);
	assert_false(device_thread_take(TAP, &opened));
	opens = true;
}

// A port is removed while its device is closed, or waits for it.
static void test_drop(void **state)
{
	unsigned int dropped = n_dropped_open, closed = n_closed[TAP];

	(void)state;
	opens = false;
	now_ms += 60000;
	give(TAP);
	wait_for(&n_closed[TAP], closed + 1);
	wait_for_looks();
	drop(TAP);
	assert_int_equal(n_dropped_open, dropped);
	opens = true;
	device_thread_give(TAP, DEVICE_DROP);
	while (device_thread_has(TAP))
		assert_true(wait_on());
	assert_int_equal(n_dropped_open, dropped + 1);
}

// A device that answers too late is closed then.
static void test_try_hangs(void **state)
{
	unsigned int before = n_opened[TAP], dropped = n_dropped_open;

	(void)state;
	hangs = true;
	device_thread_try(TAP, &conf);
	wait_for(&n_opened[TAP], before + 1);
	device_thread_drop(TAP);
	assert_true(device_thread_has(TAP));
	hangs = false;
	while (device_thread_has(TAP))
		assert_true(wait_on());
	assert_int_equal(n_dropped_open, dropped + 1);
}

// The end of the daemon does not wait for ever.
static void test_device_hangs(void **state)
{
	unsigned int before = n_opened[TAP];

	(void)state;
	hangs = true;
	now_ms += 60000;
	give(TAP);
	wait_for(&n_opened[TAP], before + 1);
	device_thread_hosts_give(NULL);
	assert_false(device_thread_stop());
	hangs = false;
	take(TAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_card_leaves),
		cmocka_unit_test(test_tap_at_once),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_steer),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_announce),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_try),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_try_hangs),
		cmocka_unit_test(test_device_hangs),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
