// SPDX-License-Identifier: BSD-3-Clause
// An address of a standby group: the gateway neither answers for it nor sends from it, and drops
// packets for both under one reason. The test plays the control thread.
#include <netinet/in.h>

#include "addrs.h"
#include "dummy.h"
#include "expected_group.h"
#include "ike_host.h"
#include "peer.h"
#include "site_hops.h"
#include "site_nat.h"
#include "site_routed.h"
#include "site_v6.h"

#define OWN6       "2001:db8:1::1"
#define HOST6      "2001:db8:1::5"
#define LINK_LOCAL "fe80::ff:fe00:100" // of port LAN, by its MAC 02:00:00:00:01:00

// The first fragment, whose length is no multiple of 8 octets.
static const uint8_t fragment_header[8] = {IPPROTO_UDP, 0, 0, 1};

static void address_set(uint16_t port, const char *addr, bool standby)
{
	group_address_set(port, addr, standby ? DAD_STANDBY : DAD_ASSIGNED);
}

static void role_set(struct gateway *g, bool standby)
{
	group_set(g, standby ? DAD_STANDBY : DAD_ASSIGNED);
}

static int end(void **state)
{
	static const char *const own[] = {
		GROUP_ADDRESS, "10.1.0.1", OWN6, "2001:db8:f::1", LINK_LOCAL, "fe80::5"};

	group_addresses_end(own, COUNT_OF(own));
	return harness_test_end(state);
}

#define groups_test(f) cmocka_unit_test_setup_teardown(f, harness_test_begin, end)

// The frame is dropped as standby, and nothing is sent or posted about it.
static void expect_silence(struct gateway *g, const struct frame *f)
{
	gateway_expect_drop(g, f, DROP_STANDBY);
	assert_int_equal(g->n_sent, 0);
	expect_no_event(g);
}

static void test_arp(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame request = frame_arp(WAN, 1, "192.0.2.2", GROUP_ADDRESS);
	struct frame probe = frame_arp(WAN, 1, "0.0.0.0", GROUP_ADDRESS);
	struct frame announced = frame_arp(WAN, 1, GROUP_ADDRESS, GROUP_ADDRESS);
	struct frame asks = frame_arp(WAN, 1, GROUP_ADDRESS, "192.0.2.254");

	(void)state;
	address_set(WAN, GROUP_ADDRESS, true);
	expect_silence(g, &request);
	expect_silence(g, &probe);
	expect_silence(g, &announced);
	gateway_pass(g, &asks, 1); // of the active one: no conflict
	expect_drops(g, DROP_NONE, 0);
	expect_no_event(g);
	address_set(WAN, GROUP_ADDRESS, false);
	gateway_expect_sent(g, &request, WAN);
	expect_event(g, EVENT_NEIGH_HEARD, WAN, "192.0.2.2");
	gateway_pass(g, &asks, 1);
	expect_event(g, EVENT_ADDR_CONFLICT, WAN, GROUP_ADDRESS);
	gateway_free(g);
}

static void test_neighbour_discovery(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6, (struct site){0});
	struct frame asks = frame_nd(LAN, 135, HOST6, "ff02::1:ff00:1", OWN6, 0);
	struct frame checks = frame_nd(LAN, 135, "::", "ff02::1:ff00:1", OWN6, 0);
	struct frame announced = frame_nd(LAN, 136, OWN6, "ff02::1", OWN6, 0x20000000);

	(void)state;
	checks.len -= 8; // without an option (RFC 4861 4.3)
	frame_nd_update(&checks);
	address_set(LAN, OWN6, true);
	expect_silence(g, &asks);
	expect_silence(g, &checks);
	expect_silence(g, &announced);
	address_set(LAN, OWN6, false);
	gateway_expect_sent(g, &asks, LAN);
	expect_event(g, EVENT_ND_SOLICITED, LAN, HOST6);
	gateway_pass(g, &announced, 1);
	expect_event(g, EVENT_DAD_HEARD, LAN, OWN6);
	gateway_free(g);
}

// The active member asks for another address from one of the group's: that is no conflict.
static void test_solicitation_of_the_active_one(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6, (struct site){0});
	struct frame asks = frame_nd(LAN, 135, OWN6, "ff02::1:ff00:5", HOST6, 0);

	(void)state;
	address_set(LAN, OWN6, true);
	gateway_pass(g, &asks, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_no_event(g);
	address_set(LAN, OWN6, false);
	gateway_pass(g, &asks, 1);
	expect_event(g, EVENT_ADDR_CONFLICT, LAN, OWN6);
	gateway_free(g);
}

// Another port may have the same link-local address, as its own or that of a station.
static void test_link_local_of_another_port(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6, (struct site){0});
	struct frame asks = frame_nd(LAN, 135, HOST6, "ff02::1:ff00:100", LINK_LOCAL, 0);
	struct frame ping = frame_ip6(LAN, (struct ipv6)FROM_TO("fe80::5", LINK_LOCAL,
						   .proto = IPPROTO_ICMPV6, .icmp_type = 128));

	(void)state;
	address_set(WAN, LINK_LOCAL, true);
	gateway_expect_sent(g, &asks, LAN);
	expect_event(g, EVENT_ND_SOLICITED, LAN, HOST6);
	address_set(WAN, LINK_LOCAL, false);
	address_set(WAN, "fe80::5", true);
	gateway_expect_sent(g, &ping, LAN);
	gateway_free(g);
}

// No echo, and no error about a closed port.
static void test_local(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame ping = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1",
						  .proto = IPPROTO_ICMP, .icmp_type = 8));
	struct frame udp = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .dport = 99));
	struct frame unknown = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1",
						     .proto = IPPROTO_ICMP, .icmp_type = 99));

	(void)state;
	address_set(LAN, "10.1.0.1", true);
	expect_silence(g, &ping);
	expect_silence(g, &udp);
	expect_silence(g, &unknown);
	address_set(LAN, "10.1.0.1", false);
	gateway_expect_sent(g, &ping, LAN);
	gateway_free(g);
}

static void test_local_v6(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6, (struct site){0});
	struct frame ping = frame_ip6(
		LAN, (struct ipv6)FROM_TO(HOST6, OWN6, .proto = IPPROTO_ICMPV6, .icmp_type = 128));

	(void)state;
	address_set(LAN, OWN6, true);
	expect_silence(g, &ping);
	address_set(LAN, OWN6, false);
	gateway_expect_sent(g, &ping, LAN);
	gateway_free(g);
}

// Malformed fragments for it, and fragments of which the others do not arrive.
static void test_fragments(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6, (struct site){0});
	struct frame f = frame_ip6(
		LAN, (struct ipv6)FROM_TO(HOST6, OWN6, .ext = fragment_header, .ext_proto = 44,
			     .ext_len = sizeof(fragment_header), .proto = IPPROTO_UDP));

	(void)state;
	address_set(LAN, OWN6, true);
	gateway_expect_drop(g, &f, DROP_FRAGMENT_INVALID);
	assert_int_equal(g->n_sent, 0);
	address_set(LAN, OWN6, false);
	gateway_expect_drop(g, &f, DROP_FRAGMENT_INVALID);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

// A packet that waits for its next hop when the group becomes standby.
static void test_held(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	const struct ip_addr peer = addr_of("192.0.2.2");
	const struct rte_ether_addr mac = {{2, 0, 0, 0, 2, WAN}};

	(void)state;
	neigh_table_free(harness_neigh); // the link address of B is not known
	dad_free(harness_dad);
	assert_int_equal(harness_test_begin(NULL), 0);
	g->w->neigh = harness_neigh;
	g->w->dad = harness_dad;
	gateway_pass(g, &f, 1);
	assert_int_equal(worker_held(g->w), 1);
	role_set(g, true);
	neigh_learn(harness_neigh, WAN, &peer, &mac, true, 0);
	gateway_wait(g, 5000);
	assert_int_equal(g->n_sent, 0);
	expect_drops(g, DROP_STANDBY, 1);
	assert_int_equal(worker_held(g->w), 0);
	gateway_free(g);
}

// Errors about packets that are not the group's are not sent from its addresses either.
static void test_errors(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame last =
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.51.100.7", .ttl = 1));

	(void)state;
	address_set(LAN, "10.1.0.1", true);
	gateway_expect_drop(g, &last, DROP_TTL);
	assert_int_equal(g->n_sent, 0);
	address_set(LAN, "10.1.0.1", false);
	gateway_expect_drop(g, &last, DROP_TTL);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

// Neither the first packet of a flow nor later ones use sequence numbers, and flows that were
// decided before are decided again.
static void test_esp_out(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	struct frame other = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.6"));
	struct sa_out *out = gateway_sa_out(g, "to-b");
	uint64_t seq;

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	seq = sa_out_seq(out);
	role_set(g, true);
	for (unsigned int i = 0; i < 3; i++) {
		expect_silence(g, &f);
		expect_silence(g, &other);
	}
	assert_int_equal(sa_out_seq(out), seq);
	role_set(g, false);
	gateway_expect_sent(g, &f, WAN);
	gateway_expect_sent(g, &other, WAN);
	assert_int_equal(sa_out_seq(out), seq + 2);
	gateway_free(g);
}

// The moment between the change of the SA and that of the decisions of flows.
static void test_esp_out_of_known_flow(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	group_sas_set(g, "to-b", "from-b", true);
	expect_silence(g, &f);
	group_sas_set(g, "to-b", "from-b", false);
	gateway_expect_sent(g, &f, WAN);
	gateway_free(g);
}

// The window stays as it was: the same packet is accepted when the group is active.
static void test_esp_in(void **state)
{
	struct gateway *a = site_a((struct site){0}), *b = site_b((struct site){0});
	struct frame in = frame_ip(LAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	struct frame wire = frame_carry(gateway_expect_sent(b, &in, WAN)), unknown = wire;
	const struct sa_in *sa = gateway_sa_in(a, "from-b");

	(void)state;
	put32(unknown.b + ETH_LEN + IP_LEN, 0x9999);
	role_set(a, true);
	expect_silence(a, &wire);
	expect_silence(a, &wire);
	expect_silence(a, &unknown);
	assert_int_equal(replay_top(&sa->sa.per_packet.replay), 0);
	role_set(a, false);
	expect_arrived(gateway_expect_sent(a, &wire, LAN), &in);
	gateway_expect_drop(a, &unknown, DROP_NO_SA);
	gateway_free(a);
	gateway_free(b);
}

static void test_dummies(void **state)
{
	struct gateway *g = site_a((struct site){.sa_out = "tfc = { dummies = 100; };"});

	(void)state;
	gateway_wait(g, TSC_HZ / 10);
	assert_int_not_equal(g->n_sent, 0);
	role_set(g, true);
	for (unsigned int i = 0; i < 100; i++) {
		gateway_wait(g, TSC_HZ / 100);
		assert_int_equal(g->n_sent, 0);
		expect_drops(g, DROP_NONE, 0);
	}
	role_set(g, false);
	gateway_wait(g, TSC_HZ / 10);
	assert_int_not_equal(g->n_sent, 0);
	gateway_free(g);
}

// A route into a tunnel of the group does not lead elsewhere, even with skip.
static void test_routed(void **state)
{
	struct gateway *g = site_routed("", "");
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7"));
	struct frame skips = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.6.7.7"));

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	role_set(g, true);
	expect_silence(g, &f);
	expect_silence(g, &skips);
	role_set(g, false);
	gateway_expect_sent(g, &f, WAN);
	gateway_expect_sent(g, &skips, WAN);
	gateway_free(g);
}

// A tunnel of IKE that has no SA: nobody is asked for one.
static void test_routed_without_sa(void **state)
{
	static const char by_sas[] = "out = \"to-c\"; in = \"from-c\";";
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.7.7"));
	struct gateway *g;
	char conf[8192], *c;

	(void)state;
	site_routed_conf(conf, sizeof(conf), "", "");
	c = strstr(conf, by_sas);
	memset(c, ' ', strlen(by_sas));
	memcpy(c, "if_id = 7;", 10);
	g = gateway_new(0, conf);
	g->snapshot->objects->standby = true;
	expect_silence(g, &f);
	g->snapshot->objects->standby = false;
	gateway_expect_drop(g, &f, DROP_TUNNEL_DOWN);
	expect_event(g, EVENT_SA_NEEDED, LAN, "10.1.0.5");
	gateway_free(g);
}

// Of a route by two tunnels, the one of an active group has all flows; none is sent in clear.
static void test_hops(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	for (unsigned int step = 0; step < 3; step++) {
		group_sas_set(g, "to-b", "from-b", step > 0);
		group_sas_set(g, "to-c", "from-c", step > 1);
		g->snapshot->flow_generation =
			snapshot_generation_next(g->snapshot->flow_generation);
		for (unsigned int i = 0; i < 32; i++) {
			const struct frame f =
				frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.6.7.7",
						      .sport = (uint16_t)(1000 + i)));

			if (step > 1) {
				expect_silence(g, &f);
				continue;
			}
			gateway_expect_sent(g, &f, WAN);
			if (step == 1)
				assert_int_equal(g->sent[0].b[5], 3); // the peer of c
		}
	}
	gateway_free(g);
}

// Neither direction of a translated connection.
static void test_nat(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame out = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53});
	struct frame fresh = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4001, SERVER, 53});
	struct frame reply = ends_frame(WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4000});

	(void)state;
	gateway_expect_sent(g, &out, WAN);
	gateway_expect_sent(g, &reply, LAN);
	role_set(g, true);
	for (unsigned int i = 0; i < 2; i++) {
		expect_silence(g, &out);
		expect_silence(g, &fresh);
		expect_silence(g, &reply);
	}
	role_set(g, false);
	gateway_expect_sent(g, &out, WAN);
	gateway_expect_sent(g, &reply, LAN);
	gateway_expect_sent(g, &fresh, WAN);
	gateway_free(g);
}

// IKE reaches the station with the daemon from the network no more, nor the network from there.
static void test_ike(void **state)
{
	struct gateway *g = site_a(ike_in_dmz);
	struct frame in = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.2", GROUP_ADDRESS, .sport = 500, .dport = 500));
	struct frame out = frame_ip(
		DMZ, (struct ipv4)FROM_TO(GROUP_ADDRESS, "192.0.2.2", .sport = 500, .dport = 500));

	(void)state;
	gateway_expect_sent(g, &in, DMZ);
	gateway_expect_sent(g, &out, WAN);
	role_set(g, true);
	expect_silence(g, &in);
	expect_silence(g, &out);
	role_set(g, false);
	gateway_expect_sent(g, &in, DMZ);
	gateway_expect_sent(g, &out, WAN);
	gateway_free(g);
}

// The same for programs on the host behind the port, whose kernel announces the address, too.
static void test_host(void **state)
{
	struct site s = {
		.policies = ", { name = \"own\"; local = \"192.0.2.1\"; action = \"bypass\"; }",
		.more = "rules = ( { name = \"ike\"; host = true; action = \"accept\"; proto = "
			"\"udp\"; destination_port = \"500\"; } );"};
	struct gateway *g = site_a_host(WAN, s);
	struct frame in = frame_ip(WAN,
		(struct ipv4)FROM_TO("192.0.2.254", GROUP_ADDRESS, .sport = 500, .dport = 500));
	struct frame out = frame_ip(WAN,
		(struct ipv4)FROM_TO(GROUP_ADDRESS, "192.0.2.254", .sport = 500, .dport = 500));
	struct frame announced = frame_arp(WAN, 1, GROUP_ADDRESS, GROUP_ADDRESS);

	(void)state;
	gateway_expect_punted(g, in);
	role_set(g, true);
	expect_silence(g, &in);
	gateway_host_pass(g, out);
	expect_drops(g, DROP_STANDBY, 1);
	gateway_host_pass(g, announced);
	expect_drops(g, DROP_STANDBY, 1);
	role_set(g, false);
	gateway_expect_punted(g, in);
	gateway_host_pass(g, out);
	expect_all_sent(g, 1, WAN);
	gateway_host_pass(g, announced);
	expect_all_sent(g, 1, WAN);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		groups_test(test_arp),
		groups_test(test_neighbour_discovery),
		groups_test(test_solicitation_of_the_active_one),
		groups_test(test_link_local_of_another_port),
		groups_test(test_local),
		groups_test(test_local_v6),
		groups_test(test_fragments),
		groups_test(test_held),
		groups_test(test_errors),
		groups_test(test_esp_out),
		groups_test(test_esp_out_of_known_flow),
		groups_test(test_esp_in),
		groups_test(test_dummies),
		groups_test(test_routed),
		groups_test(test_routed_without_sa),
		groups_test(test_hops),
		groups_test(test_nat),
		groups_test(test_ike),
		groups_test(test_host),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
