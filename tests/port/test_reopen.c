// SPDX-License-Identifier: BSD-3-Clause
// Devices that are lost while the gateway runs: ports are closed when no worker uses them any more,
// opened again by the thread of devices, and keep the state of neighbours and workers for them.
#include <stdatomic.h>

#include "bond.h"
#include "control.h"
#include "device_thread.h"
#include "device_watch.h"
#include "eal.h"
#include "ports.h"
#include "ports_start.h"
#include "reopen.h"

#define PORTS                                                                                      \
	"{ name = \"lan\"; device = \"net_null0\"; side = \"protected\"; "                         \
	"addresses = [ \"10.1.0.1/24\" ]; }, "                                                     \
	"{ name = \"wan\"; device = \"net_ring0\"; side = \"unprotected\"; "                       \
	"addresses = [ \"192.0.2.1/24\" ]; }, "                                                    \
	"{ name = \"vlan\"; parent = \"wan\"; vlan = 7; side = \"unprotected\"; "                  \
	"addresses = [ \"198.51.100.1/24\" ]; }, "                                                 \
	"{ name = \"pair\"; members = [ \"net_tap0\", \"net_tap1\" ]; side = \"protected\"; "      \
	"addresses = [ \"10.2.0.1/24\" ]; }"

enum { LAN, WAN, VLAN, PAIR };

static atomic_uint_fast64_t now_ms = 5000;
static uint64_t refused;
static unsigned int n_added, n_removed, n_assigned, n_forgotten;
static struct port ports[PORTS_MAX];
static char members[][16] = {"net_null1", "net_null2"};

static uint64_t io_now_ms(void)
{
	return now_ms;
}

static const struct control_io io = {.now_ms = io_now_ms};
static struct control control = {.io = &io, .lock = PTHREAD_MUTEX_INITIALIZER};

// --- work of the workers ---

// Queues come and go while the port is closed.
static void check_closed(const void *arg, uint16_t port)
{
	assert_ptr_equal(arg, &control);
	assert_false(port_is_open(&ports[port]));
}

static void queues_add(void *arg, uint16_t port)
{
	check_closed(arg, port);
	n_added++;
}

static void queues_remove(void *arg, uint16_t port)
{
	check_closed(arg, port);
	n_removed++;
}

static void queues_assign(void *arg, uint16_t port)
{
	check_closed(arg, port);
	n_assigned++;
}

static void queues_forget(void *arg, uint16_t port)
{
	check_closed(arg, port);
	n_forgotten++;
}

static uint64_t frames_refused(void *arg, uint16_t port)
{
	assert_ptr_equal(arg, &control);
	return port == LAN ? refused : 0;
}

static const struct reopen_io reopen_io = {
	queues_add, queues_remove, queues_assign, queues_forget, frames_refused};

static void worker_passes(void)
{
	rte_rcu_qsbr_quiescent(control.qsbr, 0);
}

// --- the gateway ---

// The configuration allows as members only devices that need privileges.
static void members_replace(struct conf *conf)
{
	for (unsigned int i = 0; i < COUNT_OF(members); i++) {
		conf->devices[conf->ports[PAIR].devices + i].device = members[i];
		conf->ports[PAIR].members[i] = members[i];
	}
}

static int begin(void **state)
{
	size_t size = rte_rcu_qsbr_get_memsize(1);

	if (ports_group_start(state) < 0)
		return -1;
	control.conf = ports_conf(PORTS);
	members_replace(control.conf);
	control.pool = ports_pool;
	control.qsbr =
		aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE));
	rte_rcu_qsbr_init(control.qsbr, 1);
	rte_rcu_qsbr_thread_register(control.qsbr, 0);
	rte_rcu_qsbr_thread_online(control.qsbr, 0);
	reopen_listen();
	if (device_thread_start(&control, ports) < 0 || ports_start(&control, ports) < 0)
		return -1;
	reopen_start(&control, ports, &reopen_io, &control);
	return 0;
}

static int end(void **state)
{
	if (!device_thread_stop())
		return -1;
	for (unsigned int i = 0; i < control.conf->n_ports; i++)
		port_free(&ports[i]);
	conf_free(control.conf);
	free(control.qsbr);
	return ports_group_stop(state);
}

static int forget(void **state)
{
	(void)state;
	n_added = n_removed = 0;
	ports_log_empty();
	return 0;
}

// Looks at the ports as ten times a second, until the port is open again.
static void await_open(unsigned int port)
{
	while (!port_is_open(&ports[port])) {
		now_ms += 100;
		reopen_tick();
		wait_a_moment();
	}
}

static void test_lost_and_opened_again(void **state)
{
	const struct rte_ether_addr mac = ports[LAN].mac;
	struct rte_ether_addr own;

	(void)state;
	reopen_tick();
	assert_true(port_is_open(&ports[LAN]));
	device_lose(ports[LAN].id);
	reopen_tick();
	assert_false(port_is_open(&ports[LAN]));
	assert_true(port_is_open(&ports[WAN]));
	assert_logged("net_null0");
	worker_passes();
	await_open(LAN);
	assert_int_equal(n_removed, 1);
	assert_int_equal(n_added, 1);
	rte_eth_macaddr_get(ports[LAN].id, &own); // as neighbours know it
	assert_memory_equal(&own, &mac, sizeof(own));
}

// A worker that is in the middle of a pass may still use the device.
static void test_waits_for_workers(void **state)
{
	const uint16_t id = ports[WAN].id;

	(void)state;
	device_lose(id);
	for (unsigned int i = 0; i < 50; i++) {
		now_ms += 100;
		reopen_tick();
		wait_a_moment();
		assert_true(rte_eth_dev_is_valid_port(id));
	}
	assert_false(port_is_open(&ports[VLAN])); // nor the port that shares the device
	frame_send(id, 3);
	assert_int_equal(frame_receive(id), 3);
	worker_passes();
	await_open(WAN);
	assert_true(port_is_open(&ports[VLAN]));
	frame_send(ports[WAN].id, 4);
	assert_int_equal(frame_receive(ports[WAN].id), 4);
}

// It is reported, but a restart is known to help devices of vhost alone.
static void test_stalled(void **state)
{
	(void)state;
	control.links[LAN].up = true;
	for (unsigned int i = 0; i < 40; i++) {
		now_ms += 100;
		refused++;
		reopen_tick();
	}
	control.links[LAN].up = false;
	assert_logged("\"lan\"");
	assert_true(port_is_open(&ports[LAN]));
}

// The driver looks at the links of members every 10 ms.
static void await_active(uint32_t wanted)
{
	while (bond_active(ports[PAIR].bond) != wanted)
		wait_a_moment();
}

// The port is opened again without a member that is lost.
static void test_member_lost(void **state)
{
	uint16_t first = ports[PAIR].member_id[0];

	(void)state;
	assert_int_equal(ports[PAIR].n_member_ids, 2);
	await_active(1u << 0);
	device_lose(first);
	reopen_tick();
	assert_false(port_is_open(&ports[PAIR]));
	assert_logged("net_null1");
	worker_passes();
	await_open(PAIR);
	assert_int_equal(ports[PAIR].n_member_ids, 1); // not tried again at once
	assert_string_equal(bond_failure(ports[PAIR].bond, 0), "failed");
	assert_null(bond_failure(ports[PAIR].bond, 1));
	await_active(1u << 1);
}

#define NEW (PAIR + 1)

static const struct port *try(const struct conf *conf, const char **why)
{
	device_thread_try(NEW, conf);
	while (device_thread_tries(NEW))
		wait_a_moment();
	return device_thread_tried(NEW, why);
}

static void configure(struct conf *conf)
{
	pthread_mutex_lock(&control.lock);
	control.conf = conf;
	for (unsigned int i = 0; i < conf->n_ports; i++)
		ports[i].conf = &conf->ports[i];
	pthread_mutex_unlock(&control.lock);
}

static void await_removed(void)
{
	while (control.leaving[NEW].has_device) {
		reopen_tick();
		worker_passes();
		wait_a_moment();
	}
}

static void remove_port(struct conf *without)
{
	configure(without);
	control.leaving[NEW].has_device = true;
	reopen_remove(NEW);
	assert_false(port_is_open(&ports[NEW]));
}

// A port that a configuration adds, and the next one removes.
static void test_added_and_removed(void **state)
{
	struct conf *without = control.conf,
		    *with = ports_conf(PORTS ", { name = \"new\"; device = \"net_ring7\"; side = "
					     "\"protected\"; addresses = [ \"10.7.0.1/24\" ]; }");
	const char *why;
	uint16_t id;

	(void)state;
	members_replace(with);
	for (unsigned int i = 0; i < 2; i++) { // the name of the device is free again
		n_assigned = n_forgotten = 0;
		assert_non_null(try(with, &why));
		ports[NEW] = *device_thread_tried(NEW, &why);
		configure(with);
		reopen_add(NEW);
		assert_true(port_is_open(&ports[NEW]));
		assert_int_equal(n_assigned, 1);
		id = ports[NEW].id;
		frame_send(id, 9);
		assert_int_equal(frame_receive(id), 9);
		remove_port(without);
		reopen_tick();
		wait_a_moment();
		assert_true(rte_eth_dev_is_valid_port(id)); // a worker is in a pass
		assert_int_equal(n_forgotten, 0);
		await_removed();
		assert_int_equal(n_forgotten, 1);
		assert_false(rte_eth_dev_is_valid_port(id));
	}
	// While its device is lost.
	assert_non_null(try(with, &why));
	ports[NEW] = *device_thread_tried(NEW, &why);
	configure(with);
	reopen_add(NEW);
	device_lose(ports[NEW].id);
	reopen_tick();
	worker_passes();
	reopen_tick();
	remove_port(without);
	await_removed();
	assert_false(device_thread_has(NEW));
	conf_free(with);
}

// Nothing is left of a device that does not open.
static void test_not_added(void **state)
{
	struct conf *with =
		ports_conf(PORTS ", { name = \"new\"; device = \"net_null7,nothing=1\"; side = "
				 "\"protected\"; addresses = [ \"10.7.0.1/24\" ]; }");
	const char *why;

	(void)state;
	assert_null(try(with, &why));
	assert_logged("port \"new\": cannot open device \"net_null7,nothing=1\"");
	assert_false(device_thread_has(NEW));
	conf_free(with);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lost_and_opened_again, forget),
		cmocka_unit_test_setup(test_waits_for_workers, forget),
		cmocka_unit_test_setup(test_stalled, forget),
		cmocka_unit_test_setup(test_member_lost, forget),
		cmocka_unit_test_setup(test_added_and_removed, forget),
		cmocka_unit_test_setup(test_not_added, forget),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
