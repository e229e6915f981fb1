// SPDX-License-Identifier: BSD-3-Clause
// Links that go down and come up, and neighbours on them.
#include "arp.h"
#include "desk.h"
#include "events.h"

static unsigned int arp_sent(uint16_t port)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < desk_n_sent; i++)
		n += desk_sent[i].port == port && desk_sent[i].b[12] == 8 &&
		     desk_sent[i].b[13] == 6;
	return n;
}

static bool knows(uint16_t port, const char *addr)
{
	struct ip_addr a = addr_of(addr);

	return neigh_has(desk.neigh, port, &a);
}

static struct event arp_from(const char *addr)
{
	return (struct event){.kind = EVENT_NEIGH_HEARD,
		.port = WAN,
		.addr = addr_of(addr),
		.mac = {{2, 0, 0, 0, 0, 7}},
		.for_us = true};
}

static void test_changes(void **state)
{
	(void)state;
	desk_event(arp_from("192.0.2.77"));
	desk_wait(3000);
	assert_true(knows(WAN, "192.0.2.77"));
	desk_forget();
	desk_link[WAN] = false;
	desk_wait(1000);
	desk_expect_event("event=link_down\tseverity=warning\tport=wan");
	desk_expect_no_event();
	assert_false(desk.links[WAN].up);
	assert_false(knows(WAN, "192.0.2.77"));
	assert_true(knows(WAN, "192.0.2.2")); // static
	desk_forget();
	desk_link[WAN] = true;
	desk_wait(1000);
	desk_expect_event("event=link_up\tseverity=info\tport=wan");
	assert_int_equal(desk.links[WAN].changes, 2);
	assert_int_equal(arp_sent(WAN), 1); // announces 192.0.2.1
	assert_int_equal(arp_sent(LAN), 0);
	// Its IPv6 addresses are checked again.
	assert_int_equal(desk_sa_out("out-6")->sa.per_packet.stop, DROP_ADDR_UNUSABLE);
	desk_wait(2000);
	assert_int_equal(desk_sa_out("out-6")->sa.per_packet.stop, DROP_NONE);
}

// A link that goes down is one store, which all flows by it read: none is decided again.
static void test_one_store(void **state)
{
	const struct objects *o = desk.snapshot->objects;
	uint32_t before;

	(void)state;
	desk_wait(200); // the routes of the start are decided
	before = desk_flow_generation();
	assert_true(objects_link_is_up(o, WAN));
	desk_link[WAN] = false;
	desk_wait(1000);
	assert_false(objects_link_is_up(o, WAN));
	assert_true(objects_link_is_up(o, LAN));
	desk_link[WAN] = true;
	desk_wait(1000);
	assert_true(objects_link_is_up(o, WAN));
	assert_int_equal(desk_flow_generation(), before);
	desk_forget();
}

// Links are checked once a second.
static void test_short_outage_is_not_seen(void **state)
{
	(void)state;
	desk_wait(1100);
	desk_forget();
	desk_link[WAN] = false;
	desk_wait(100);
	desk_link[WAN] = true;
	desk_wait(2000);
	desk_expect_no_event();
}

static void expect_member(const char *what, const char *severity, const char *device)
{
	char event[128];

	snprintf(event, sizeof(event), "event=member_%s\tseverity=%s\tport=wan\tdevice=%s", what,
		severity, device);
	desk_expect_event(event);
}

// The members of the WAN's port change within a tick; switches learn by the announcements of the
// new one.
static void test_members_change_within_a_tick(void **state)
{
	(void)state;
	desk_wait(4000); // addresses are assigned, groups reported
	desk_forget();
	desk_active[WAN] = 1;
	desk_wait(100);
	expect_member("active", "info", "net_tap1");
	desk_expect_no_event();
	assert_int_equal(arp_sent(WAN), 0); // the link does not change by that
	desk_active[WAN] = 2;
	desk_wait(100);
	expect_member("inactive", "warning", "net_tap1");
	expect_member("active", "info", "net_tap2");
	assert_int_equal(arp_sent(WAN), 1);
	assert_int_equal(arp_sent(LAN), 0);
	assert_int_equal(
		desk_sa_out("out-6")->sa.per_packet.stop, DROP_NONE); // no duplicate is looked for
	desk_active[WAN] = 3;
	desk_wait(100);
	expect_member("active", "info", "net_tap1");
	assert_int_equal(arp_sent(WAN), 2);
	desk_active[WAN] = 1;
	desk_wait(100);
	expect_member("inactive", "warning", "net_tap2");
	assert_int_equal(arp_sent(WAN), 2);
	desk_wait(1000);
	desk_expect_no_event();
}

// With the last member, the link goes down at once.
static void test_no_member(void **state)
{
	(void)state;
	desk_active[WAN] = 1;
	desk_wait(1100);
	desk_forget();
	desk_active[WAN] = 0;
	desk_link[WAN] = false;
	desk_wait(100);
	expect_member("inactive", "warning", "net_tap1");
	desk_expect_event("event=link_down\tseverity=warning\tport=wan");
	desk_active[WAN] = 2;
	desk_link[WAN] = true;
	desk_wait(100);
	expect_member("active", "info", "net_tap2");
	desk_expect_event("event=link_up\tseverity=info\tport=wan");
	assert_int_equal(arp_sent(WAN), 1);
}

// A VLAN of a port with members: switches learn by its announcements as well.
static void test_vlan_of_members(void **state)
{
	(void)state;
	desk_active[LAN] = 1; // as a VLAN it has no members of its own
	desk_wait(1100);
	desk_forget();
	desk_active[LAN] = 2;
	desk_wait(100);
	desk_expect_no_event();
	assert_int_equal(arp_sent(LAN), 1);
}

// A station on no network of the port cannot be a next hop, nor the first and last address of one.
static void test_off_link(void **state)
{
	static const char *const no[] = {"198.51.100.7", "10.1.0.7", "192.0.2.0", "192.0.2.255"};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(no); i++) {
		desk_event(arp_from(no[i]));
		assert_false(knows(WAN, no[i]));
	}
}

// A next hop is resolved by a request that comes from the address on its network.
static void test_request_comes_from_own_network(void **state)
{
	const struct rte_arp_hdr *arp = (const struct rte_arp_hdr *)(desk_sent[0].b + ETH_LEN);

	(void)state;
	desk_wait(2000);
	desk_forget();
	desk_event((struct event){
		.kind = EVENT_NEIGH_NEEDED, .port = WAN, .addr = addr_of("192.0.2.9")});
	assert_int_equal(desk_n_sent, 1);
	assert_int_equal(arp_sent(WAN), 1);
	assert_int_equal(arp->arp_data.arp_sip, RTE_BE32(0xc0000201));
	assert_int_equal(arp->arp_data.arp_tip, RTE_BE32(0xc0000209));
	desk_event((struct event){
		.kind = EVENT_NEIGH_NEEDED, .port = WAN, .addr = addr_of("198.51.100.7")});
	assert_int_equal(arp_sent(WAN), 2); // no own address there: a route has port
	assert_int_equal(arp->arp_data.arp_sip, RTE_BE32(0xc0000201));
	desk_event(arp_from("198.51.100.7"));
	assert_true(knows(WAN, "198.51.100.7"));
}

// Events of a worker pass its ring.
static void test_events_come_through_ring(void **state)
{
	struct event e = {.kind = EVENT_NEIGH_NEEDED, .port = WAN, .addr = addr_of("192.0.2.9")};

	(void)state;
	worker_event_post(desk.workers[0], &e);
	assert_false(knows(WAN, "192.0.2.9"));
	events_drain(&desk, desk_now);
	assert_true(knows(WAN, "192.0.2.9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_changes),
		desk_test(test_short_outage_is_not_seen),
		desk_test(test_members_change_within_a_tick),
		desk_test(test_no_member),
		desk_test(test_vlan_of_members),
		desk_test(test_off_link),
		desk_test(test_request_comes_from_own_network),
		desk_test(test_events_come_through_ring),
		desk_test(test_one_store),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
