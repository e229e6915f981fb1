// SPDX-License-Identifier: BSD-3-Clause
// Addresses that programs of the host give a port, as VRRP daemons do. Proves that the gateway is
// found at their link address and receives there, and that it forwards the announcements of the
// host.
#include "addrs.h"
#include "arp.h"
#include "nd.h"
#include "packet_v6.h"
#include "peer.h"
#include "site.h"

#define VIRTUAL_4 "10.1.0.254"
#define VIRTUAL_6 "2001:db8:1::fe"

static const struct rte_ether_addr router_mac = {{0, 0, 0x5e, 0, 1, 7}};

static void guests_set(struct gateway *g, const char *const addr[], unsigned int n)
{
	struct conf_guests guests = {.n = n};

	for (unsigned int i = 0; i < n; i++) {
		guests.addr[i] = addr_of(addr[i]);
		guests.mac[i] = router_mac;
	}
	g->conf->ports[LAN].guests = guests;
	gateway_reload(g, g->conf);
}

// A gateway with a host behind its port LAN, which has the virtual addresses.
static struct gateway *gateway_with_guests(void)
{
	static const char *const both[] = {VIRTUAL_4, VIRTUAL_6};
	struct gateway *g =
		gateway_new(0, "ports = ( { name = \"lan\"; device = \"net_null0\"; host = \"gw0\";"
			       " addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },"
			       " { name = \"wan\"; device = \"net_null1\"; addresses = [ "
			       "\"192.0.2.1/24\" ]; } );");

	gateway_host_add(g, LAN);
	guests_set(g, both, 2);
	return g;
}

static struct frame to_router(struct frame f)
{
	memcpy(f.b, &router_mac, sizeof(router_mac));
	return f;
}

static struct frame ping_of(const char *addr)
{
	return frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", addr, .proto = 1, .icmp_type = 8));
}

static void test_arp(void **state)
{
	struct gateway *g = gateway_with_guests();
	struct frame ask = frame_arp(LAN, 1, "10.1.0.5", VIRTUAL_4);
	const struct frame *answer = gateway_expect_sent(g, &ask, LAN);

	(void)state;
	assert_memory_equal(answer->b + 6, &router_mac, sizeof(router_mac));
	assert_memory_equal(answer->b + ETH_LEN + 8, &router_mac, sizeof(router_mac));
	ask = frame_arp(LAN, 1, "10.1.0.5", "10.1.0.1");
	answer = gateway_expect_sent(g, &ask, LAN);
	assert_memory_equal(answer->b + 6, mac_of_port(LAN), 6);
	guests_set(g, NULL, 0);
	ask = frame_arp(LAN, 1, "10.1.0.5", VIRTUAL_4);
	gateway_pass(g, &ask, 1);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

// Frames for either link address pass in one burst, others are another station's.
static void test_frames_for_both_macs_pass(void **state)
{
	struct gateway *g = gateway_with_guests();
	struct frame own = ping_of("10.1.0.1");
	struct frame f[] = {own, to_router(own), to_router(own), own, to_router(own)};
	struct frame other = to_router(own);

	(void)state;
	gateway_pass(g, f, RTE_DIM(f));
	expect_all_sent(g, RTE_DIM(f), LAN);
	other.b[5] ^= 1;
	gateway_expect_drop(g, &other, DROP_MAC_OTHER);
	other = to_router(frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.5", "10.1.0.5")));
	gateway_expect_drop(g, &other, DROP_MAC_OTHER); // the other port has none
	guests_set(g, NULL, 0);
	gateway_expect_drop(g, &f[1], DROP_MAC_OTHER);
	gateway_free(g);
}

static void test_ping(void **state)
{
	struct gateway *g = gateway_with_guests();
	struct frame ping = to_router(ping_of(VIRTUAL_4));

	(void)state;
	gateway_expect_sent(g, &ping, LAN);
	gateway_free(g);
}

static void test_announced(void **state)
{
	struct gateway *g = gateway_with_guests();
	struct frame f = frame_arp(LAN, 1, VIRTUAL_4, VIRTUAL_4);
	struct ip_addr own = addr_of(VIRTUAL_6), other = addr_of("2001:db8:1::ff");
	uint8_t expected[ND_FRAME_LEN];

	(void)state;
	gateway_host_pass(g, f);
	expect_all_sent(g, 1, LAN);
	arp_request_build(expected, &router_mac, ip_addr_v4(&(struct ip_addr){0}), 0, NULL);
	assert_memory_equal(g->sent[0].b, expected, ETH_LEN); // to all, from the virtual router
	assert_memory_equal(g->sent[0].b + ETH_LEN + 8, &router_mac, sizeof(router_mac));
	assert_memory_equal(g->sent[0].b + ETH_LEN + 14, f.b + ETH_LEN + 14, 4);
	assert_memory_equal(g->sent[0].b + ETH_LEN + 24, f.b + ETH_LEN + 24, 4);

	f.len = nd_announcement_build(f.b, (const struct rte_ether_addr *)mac_of_port(LAN), &own);
	gateway_host_pass(g, f);
	expect_all_sent(g, 1, LAN);
	nd_announcement_build(expected, &router_mac, &own);
	assert_int_equal(g->sent[0].len, f.len);
	assert_memory_equal(g->sent[0].b, expected, f.len);

	f.len = nd_announcement_build(f.b, &router_mac, &other);
	gateway_host_pass(g, f);
	expect_drops(g, DROP_HOST_SOURCE, 1);
	f = frame_arp(LAN, 1, "10.1.0.253", "10.1.0.253");
	gateway_host_pass(g, f);
	expect_drops(g, DROP_HOST_SOURCE, 1);
	f = frame_arp(LAN, 1, VIRTUAL_4, "10.1.0.5"); // asks
	gateway_host_pass(g, f);
	expect_drops(g, DROP_HOST_FRAME, 1);
	gateway_free(g);
}

// Switches learn the place of the virtual router from its packets (RFC 5798 7.3).
static void test_virtual_router_sends_from_its_mac(void **state)
{
	struct gateway *g = gateway_with_guests();
	struct frame f = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.1", "224.0.0.18", .proto = 112, .ttl = 255));

	(void)state;
	memcpy(f.b + 6, &router_mac, sizeof(router_mac));
	gateway_host_pass(g, f);
	expect_all_sent(g, 1, LAN);
	assert_memory_equal(g->sent[0].b + 6, &router_mac, sizeof(router_mac));
	f.b[6] = 2; // no link address of the port
	gateway_host_pass(g, f);
	assert_memory_equal(g->sent[0].b + 6, mac_of_port(LAN), 6);
	gateway_free(g);
}

// The address of the configuration counts: the host behind another port, or a mistake there,
// changes neither to which port an own address belongs nor the broadcast addresses.
static void test_configured(void **state)
{
	struct gateway *g = gateway_new(0,
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ "
		"\"10.1.0.1/24\" ]; }, { name = \"wan\"; device = \"net_null1\"; host = \"gw0\";"
		" side = \"unprotected\"; addresses = [ \"192.0.2.1/24\" ]; } );");
	struct frame ping = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.5", "10.1.0.1", .proto = 1, .icmp_type = 8));
	struct frame broadcast = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.255"));

	(void)state;
	gateway_expect_drop(g, &ping, DROP_NO_POLICY);
	gateway_expect_drop(g, &broadcast, DROP_NOT_UNICAST);
	g->conf->ports[WAN].guests =
		(struct conf_guests){.n = 2, .addr = {addr_of("10.1.0.1"), addr_of("10.1.0.255")}};
	gateway_reload(g, g->conf);
	gateway_expect_drop(g, &ping, DROP_NO_POLICY);
	gateway_expect_drop(g, &broadcast, DROP_NOT_UNICAST);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_arp),
		pipeline_test(test_frames_for_both_macs_pass),
		pipeline_test(test_ping),
		pipeline_test(test_announced),
		pipeline_test(test_configured),
		pipeline_test(test_virtual_router_sends_from_its_mac),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
