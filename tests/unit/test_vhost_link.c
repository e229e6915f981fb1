// SPDX-License-Identifier: BSD-3-Clause
// Peers that connect to a vhost device while it is being started, second peers, and devices that
// pass nothing. The driver is one of the test, which does the steps of DPDK's net_vhost in the same
// order, so that a peer can connect between any two of them.
#include <string.h>

#include <rte_ethdev.h>

#include "device_socket.h"
#include "device_watch.h"
#include "device_bus.h"
#include "iface.h"
#include "test.h"

#define ID 3

// --- the driver ---

enum step { NEVER, BEFORE_START, QUEUES_COPIED, STARTED, ATTACHED_READ, AFTER_START };

static struct {
	int vid, queue_vid; // of the peer, as the device and as its queues know it; -1: none
	bool started, attached, allowed;
	bool link;
	bool restless; // the peer comes and goes at each start
	unsigned int starts;
	enum step connects; // when the peer does
} driver;

static struct rte_eth_stats stats;

// update_queuing_status() ends with this.
static void allow(bool attached)
{
	driver.allowed = driver.started && attached;
}

static void peer_connects(void)
{
	driver.vid++;
	if (driver.started)
		driver.queue_vid = driver.vid;
	driver.link = true;
	driver.attached = true;
	allow(driver.attached);
	vhost_link_changed(ID);
}

static void peer_leaves(void)
{
	driver.attached = false;
	allow(driver.attached);
	driver.link = false;
	driver.queue_vid = -1;
	vhost_link_changed(ID);
}

static void at(enum step step)
{
	if (driver.connects != step)
		return;
	driver.connects = NEVER;
	peer_connects();
}

int __wrap_rte_eth_dev_start(uint16_t id);
int __wrap_rte_eth_dev_stop(uint16_t id);
int __wrap_rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link);
int __wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *s);

int __wrap_rte_eth_dev_start(uint16_t id)
{
	bool attached;

	assert_int_equal(id, ID);
	driver.starts++;
	driver.queue_vid = driver.vid;
	at(QUEUES_COPIED);
	driver.started = true;
	at(STARTED);
	attached = driver.attached;
	at(ATTACHED_READ);
	allow(attached);
	if (driver.restless && driver.starts < 1000) {
		peer_leaves();
		peer_connects();
	}
	return 0;
}

int __wrap_rte_eth_dev_stop(uint16_t id)
{
	assert_int_equal(id, ID);
	driver.started = false;
	allow(driver.attached);
	return 0;
}

int __wrap_rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link)
{
	assert_int_equal(id, ID);
	link->link_status = driver.link;
	return 0;
}

int __wrap_rte_eth_stats_get(uint16_t id, struct rte_eth_stats *s)
{
	assert_int_equal(id, ID);
	*s = stats;
	return 0;
}

// --- other functions that device_watch.c uses ---

bool device_is_vhost(const char *device)
{
	return strncmp(device, "net_vhost", 9) == 0;
}

bool device_socket_connects(char path[DEVICE_SOCKET_SIZE], const char *device)
{
	(void)path, (void)device;
	return false;
}

bool device_socket_is_used(const char *path)
{
	(void)path;
	return false;
}

bool device_is_on_bus(const char *device)
{
	(void)device;
	return true;
}

bool device_is_confined(const char *device)
{
	(void)device;
	return true;
}

bool iface_name(char *name, const char *device)
{
	(void)name, (void)device;
	return false;
}

int tap_find(const char *name)
{
	(void)name;
	return -1;
}

bool tap_exists(int fd)
{
	(void)fd;
	return false;
}

// --- the thread that opens devices, and the control thread ---

static void open_device(enum step connects)
{
	memset(&driver, 0, sizeof(driver));
	driver.vid = driver.queue_vid = -1;
	driver.connects = connects;
	device_find_again(ID);
	vhost_link_open(ID, "net_vhost0,iface=/run/vhost.sock");
	at(BEFORE_START);
	rte_eth_dev_start(ID);
	vhost_link_settle(ID);
	at(AFTER_START);
}

static void look(void)
{
	if (vhost_link_is_due(ID))
		vhost_link_settle(ID);
}

static bool carries(void)
{
	return driver.allowed && driver.queue_vid == driver.vid && driver.vid >= 0;
}

static void test_connects_at_any_step(void **state)
{
	(void)state;
	for (enum step s = BEFORE_START; s <= AFTER_START; s++) {
		open_device(s);
		look();
		assert_true(carries());
		assert_true(vhost_link_is_settled(ID));
		assert_int_equal(driver.starts, 2);
		look();
		assert_int_equal(driver.starts, 2);
	}
}

// The peer connects again while the device is started because of its first connection.
static void test_connects_again_meanwhile(void **state)
{
	(void)state;
	for (enum step s = QUEUES_COPIED; s <= ATTACHED_READ; s++) {
		open_device(AFTER_START);
		peer_leaves();
		peer_connects();
		driver.connects = s;
		look();
		look();
		assert_true(carries());
	}
}

// The thread has other ports to serve.
static void test_comes_and_goes_for_ever(void **state)
{
	(void)state;
	open_device(AFTER_START);
	driver.restless = true;
	look();
	assert_int_equal(driver.starts, 2);
	assert_false(vhost_link_is_settled(ID));
	driver.restless = false;
	look();
	assert_true(carries());
	assert_true(vhost_link_is_settled(ID));
}

static void test_no_peer(void **state)
{
	(void)state;
	open_device(NEVER);
	look();
	assert_int_equal(driver.starts, 1);
	assert_false(vhost_link_is_settled(ID)); // the link is not reported as up before
}

static void test_later_peers(void **state)
{
	(void)state;
	open_device(BEFORE_START);
	peer_leaves();
	peer_connects();
	look();
	assert_true(carries());
	assert_int_equal(driver.starts, 2);
	assert_false(vhost_link_is_taken_over(ID));
	assert_false(device_says_lost(ID));
}

static void test_repair(void **state)
{
	(void)state;
	open_device(BEFORE_START);
	driver.allowed = false;
	assert_true(vhost_link_repair(ID));
	assert_false(vhost_link_is_settled(ID));
	look();
	assert_true(carries());
}

static void test_second_peer(void **state)
{
	(void)state;
	open_device(BEFORE_START);
	peer_connects();
	assert_true(vhost_link_is_taken_over(ID));
	assert_false(vhost_link_is_taken_over(ID)); // reported once
	assert_false(device_says_lost(ID));
	peer_leaves(); // either of the two: the device has no link now
	assert_true(device_says_lost(ID));
}

static void test_other_drivers(void **state)
{
	(void)state;
	vhost_link_open(ID, "net_memif0");
	vhost_link_changed(ID);
	assert_true(vhost_link_is_settled(ID));
	assert_false(vhost_link_is_due(ID));
	assert_false(vhost_link_repair(ID));
	assert_false(vhost_link_is_taken_over(ID));
}

// --- devices that pass nothing ---

static void test_stall(void **state)
{
	struct device_stall s = {0};

	(void)state;
	stats.opackets = 100;
	assert_false(device_is_stalled(&s, ID, 1, 1000)); // since then
	assert_false(device_is_stalled(&s, ID, 2, 3999));
	assert_true(device_is_stalled(&s, ID, 3, 4000));
	assert_false(device_is_stalled(&s, ID, 4, 9999));  // twice as long
	assert_false(device_is_stalled(&s, ID, 4, 10000)); // nothing more was refused
	assert_true(device_is_stalled(&s, ID, 5, 10001));
}

static void test_stall_over(void **state)
{
	struct device_stall s = {0};

	(void)state;
	assert_false(device_is_stalled(&s, ID, 1, 1000));
	stats.ipackets++; // the peer reads nothing, but sends
	assert_false(device_is_stalled(&s, ID, 2, 4000));
	assert_false(device_is_stalled(&s, ID, 3, 6999));
	assert_true(device_is_stalled(&s, ID, 4, 7000));
	stats.opackets++;
	assert_false(device_is_stalled(&s, ID, 5, 100000));
	assert_true(device_is_stalled(&s, ID, 6, 103000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connects_at_any_step),
		cmocka_unit_test(test_connects_again_meanwhile),
		cmocka_unit_test(test_comes_and_goes_for_ever),
		cmocka_unit_test(test_no_peer),
		cmocka_unit_test(test_later_peers),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_second_peer),
		cmocka_unit_test(test_other_drivers),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_stall_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
