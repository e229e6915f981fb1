// SPDX-License-Identifier: BSD-3-Clause
// IKE for the gateway's address. Proves that it is punted to the station where the daemon runs.
#include <netinet/in.h>

#include "ike_host.h"
#include "peer.h"

// With or without the non-ESP marker.
static struct frame datagram(uint16_t port, bool marked)
{
	struct frame f = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1", .sport = IKE, .dport = port));

	put32(f.b + ETH_LEN + IP_LEN + UDP_LEN, marked ? 0 : 0x1234);
	return f;
}

static void test_in(void **state)
{
	struct gateway *g = site_a(ike_in_dmz);
	struct frame f;

	(void)state;
	expect_handed_over(g, datagram(IKE, false), DMZ);
	expect_handed_over(g, datagram(IKE, true), DMZ);
	expect_handed_over(g, datagram(NATT, true), DMZ);
	expect_handed_over(g, datagram(NATT, true), DMZ); // of a flow
	f = datagram(NATT, false);
	gateway_expect_drop(g, &f, DROP_NO_SA);
	f = datagram(501, true);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	gateway_free(g);
}

static void test_out(void **state)
{
	static const uint16_t ports[] = {IKE, NATT};
	struct gateway *g = site_a(ike_in_dmz);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		struct ipv4 ip =
			FROM_TO("192.0.2.1", "192.0.2.2", .sport = ports[i], .dport = ports[i]);
		struct frame f = frame_ip(DMZ, ip);

		gateway_expect_sent(g, &f, WAN);
		assert_memory_equal(g->sent[0].b, mac_of_neighbour(WAN), 6);
	}
	gateway_free(g);
}

// Packets of the station have an address of the gateway: no rule changes their ports, so answers
// are for the station.
static void test_is_not_translated(void **state)
{
	struct site s = ike_in_dmz;
	struct gateway *g;

	(void)state;
	s.more =
		"ike = { via = [ \"10.7.0.5\" ]; }; nat = ( { name = \"out\"; action = \"source\"; "
		"out = \"wan\"; to = \"port\"; } );";
	g = site_a(s);
	for (unsigned int again = 0; again < 2; again++) {
		struct frame f = frame_ip(DMZ,
			(struct ipv4)FROM_TO("192.0.2.1", "192.0.2.2", .sport = IKE, .dport = IKE));
		const struct frame right = frame_after_hops(&f, 1),
				   *sent = gateway_expect_sent(g, &f, WAN);

		assert_memory_equal(frame_packet(sent), frame_packet(&right), f.len - ETH_LEN);
		expect_handed_over(g, datagram(IKE, false), DMZ);
	}
	gateway_free(g);
}

// A rule that forwards all packets to a host inside leaves IKE to the station.
static void test_is_not_forwarded(void **state)
{
	struct site s = ike_in_dmz;
	struct frame f = datagram(501, true);
	struct gateway *g;

	(void)state;
	s.policies = ", { name = \"all\"; local = \"192.0.2.1\"; action = \"bypass\"; }";
	s.more = "ike = { via = [ \"10.7.0.5\" ]; }; nat = ( { name = \"all\"; action = "
		 "\"destination\"; destination = \"192.0.2.1\"; to = \"10.1.0.5\"; } );";
	g = site_a(s);
	expect_handed_over(g, datagram(IKE, false), DMZ);
	expect_handed_over(g, datagram(NATT, true), DMZ);
	gateway_expect_sent(g, &f, LAN);
	gateway_free(g);
}

// Without an SA in UDP, port 4500 belongs to IKE all the same: IKE uses it before there is an SA.
static void test_before_sas(void **state)
{
	struct site s = ike_in_dmz;
	struct gateway *g;

	(void)state;
	s.sa = NULL;
	g = site_a(s);
	expect_handed_over(g, datagram(NATT, true), DMZ);
	gateway_free(g);
}

// Policies decide, and packets for other addresses are not affected.
static void test_policies_decide(void **state)
{
	struct site s = ike_in_dmz;
	struct gateway *g = site_a(s);
	struct peer b = peer_new(g, "from-b");
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.1", .dport = IKE);
	struct frame f = peer_seal_ip(&b, 1, ip);

	(void)state;
	f = udp_insert(&f, NATT, NATT);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED); // out of a tunnel
	peer_free(&b);
	gateway_free(g);
	s.policies = "";
	g = site_a(s);
	f = datagram(IKE, false);
	gateway_expect_drop(g, &f, DROP_NO_POLICY);
	gateway_free(g);
	s.more = NULL;
	s.policies = ike_in_dmz.policies;
	g = site_a(s);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	gateway_free(g);
}

static struct frame datagram6(uint16_t port, bool marked)
{
	struct frame f = frame_ip6(WAN, (struct ipv6)FROM_TO("2001:db8:f::2", "2001:db8:f::1",
						.sport = IKE, .dport = port));

	put32(f.b + ETH_LEN + IP6_LEN + UDP_LEN, marked ? 0 : 0x1234);
	return f;
}

static void test_v6(void **state)
{
	static const uint16_t ports[] = {IKE, NATT};
	struct gateway *g = site_v6_a(OVER_V6, ike_in_lan);
	struct frame f;

	(void)state;
	expect_handed_over(g, datagram6(IKE, false), LAN);
	expect_handed_over(g, datagram6(IKE, true), LAN);
	expect_handed_over(g, datagram6(NATT, true), LAN);
	expect_handed_over(g, datagram6(NATT, true), LAN); // of a flow
	f = datagram6(NATT, false);
	gateway_expect_drop(g, &f, DROP_NO_SA);
	f = datagram6(501, true);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		f = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:f::1", "2001:db8:f::2",
					   .sport = ports[i], .dport = ports[i]));
		gateway_expect_sent(g, &f, WAN);
		assert_memory_equal(g->sent[0].b, mac_of_neighbour(WAN), 6);
	}
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_in),
		pipeline_test(test_out),
		pipeline_test(test_is_not_translated),
		pipeline_test(test_is_not_forwarded),
		pipeline_test(test_before_sas),
		pipeline_test(test_policies_decide),
		pipeline_test(test_v6),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
