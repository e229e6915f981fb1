// SPDX-License-Identifier: BSD-3-Clause
// Network address translation, packet by packet: which packets leave, how replies return, and which
// packets are dropped.
#include <netinet/in.h>

#include "addrs.h"
#include "peer.h"
#include "site_nat.h"

static void test_masquerade(void **state)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP};
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(protos); i++) {
		struct frame reply;

		for (unsigned int again = 0; again < 2; again++) { // decided, and by the decision
			expect_translated(g, LAN, protos[i],
				(struct ends){CLIENT, 4000, SERVER, 53}, WAN,
				(struct ends){OWN, 4000, SERVER, 53});
			reply = ends_frame(WAN, protos[i], (struct ends){SERVER, 53, OWN, 4000});
			if (protos[i] == IPPROTO_TCP) { // SYN, ACK
				uint8_t *tcp = reply.b + ETH_LEN + IP_LEN;

				tcp[13] = 0x12;
				put32(tcp + 8, be32(tcp + 4));
				continue;
			}
			expect_ends(gateway_expect_sent(g, &reply, LAN),
				(struct ends){SERVER, 53, CLIENT, 4000});
		}
	}
	gateway_free(g);
}

static void test_ports_are_kept_or_changed(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame f = ends_frame(LAN, IPPROTO_UDP, (struct ends){OTHER, 4000, SERVER, 53}),
		     reply;
	const struct frame *sent;
	uint16_t port;

	(void)state;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	sent = gateway_expect_sent(g, &f, WAN);
	port = be16(frame_packet(sent) + IP_LEN);
	assert_in_range(port, 1024, 65535);
	assert_int_not_equal(port, 4000);
	expect_ends(sent, (struct ends){OWN, port, SERVER, 53});
	// The same port serves another destination.
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){OTHER, 4000, "198.51.100.8", 53}, WAN,
		(struct ends){OWN, 4000, "198.51.100.8", 53});
	// Each reply comes to its client; that of the other has no static neighbour.
	expect_translated(g, WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4000}, LAN,
		(struct ends){SERVER, 53, CLIENT, 4000});
	reply = ends_frame(WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, port});
	gateway_pass(g, &reply, 1);
	assert_int_equal(g->w->n_held, 1);
	gateway_free(g);
}

static void test_ping(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});

	(void)state;
	expect_translated(g, LAN, IPPROTO_ICMP, (struct ends){CLIENT, 77, SERVER, 1}, WAN,
		(struct ends){OWN, 77, SERVER, 1});
	expect_translated(g, WAN, IPPROTO_ICMP, (struct ends){SERVER, 77, OWN, 0}, LAN,
		(struct ends){SERVER, 77, CLIENT, 0});
	gateway_free(g);
}

// A packet to the untranslated end of a flow is no reply to it, nor does it begin a flow.
static void test_untranslated_reply_is_dropped(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame f = ends_frame(WAN, IPPROTO_UDP, (struct ends){SERVER, 53, CLIENT, 4000});

	(void)state;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	gateway_expect_drop(g, &f, DROP_CT_INVALID);
	gateway_free(g);
}

// In clear from outside, with the source of a host inside: whole, and the first fragment.
static void test_forged_source_is_dropped(void **state)
{
	static const uint16_t frag[] = {0, MF};
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(frag); i++) {
		struct frame f = frame_ip(
			WAN, (struct ipv4)FROM_TO(OTHER, CLIENT, .id = 7, .frag = frag[i]));

		gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	}
	gateway_free(g);
}

static void test_port_forwarding(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES,
		.more = "nat = ( { name = \"web\"; action = \"destination\"; in = \"wan\"; "
			"destination = "
			"\"192.0.2.1\"; proto = \"udp\"; destination_port = \"80-89\"; to = "
			"\"10.1.0.5\"; "
			"to_port = \"8080-8089\"; } );"});

	(void)state;
	for (unsigned int again = 0; again < 2; again++) {
		expect_translated(g, WAN, IPPROTO_UDP, (struct ends){SERVER, 999, OWN, 82}, LAN,
			(struct ends){SERVER, 999, CLIENT, 8082});
		expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 8082, SERVER, 999},
			WAN, (struct ends){OWN, 82, SERVER, 999});
	}
	gateway_free(g);
}

// A host inside reaches the port by the outer address: both ends are translated.
static void test_hairpin(void **state)
{
	struct gateway *g = site_a(
		(struct site){.policies = POLICIES
			      ",{ name = \"lan\"; local = "
			      "\"0.0.0.0/0\"; remote = \"10.1.0.0/24\"; action = \"bypass\"; }",
			.more = "nat = ( { name = \"web\"; action = \"destination\"; destination = "
				"\"192.0.2.1\"; "
				"proto = \"udp\"; destination_port = \"80\"; to = \"10.1.0.5\"; },"
				"{ name = \"hairpin\"; action = \"source\"; source = "
				"\"10.1.0.0/24\"; destination = "
				"\"10.1.0.5\"; to = \"port\"; } );"});

	(void)state;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 999, OWN, 80}, LAN,
		(struct ends){"10.1.0.1", 999, CLIENT, 80});
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 80, "10.1.0.1", 999}, LAN,
		(struct ends){OWN, 80, CLIENT, 999});
	gateway_free(g);
}

// The policy of the tunnel sees the ends on the wire; packets out of it are translated back after
// its policy has been checked. Either end begins.
static void test_netmap_through_a_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){
		.more = "nat = ( { name = \"as-lan\"; action = \"netmap\"; source = "
			"\"10.7.0.0/24\"; "
			"destination = \"10.2.0.0/24\"; to = \"10.1.0.0/24\"; replaces = "
			"\"source\"; },"
			"{ name = \"back\"; action = \"netmap\"; source = \"10.2.0.0/24\"; "
			"destination = "
			"\"10.1.0.0/24\"; to = \"10.7.0.0/24\"; replaces = \"destination\"; } );"});
	struct peer to_b = peer_new(g, "to-b"), from_b = peer_new(g, "from-b");
	struct frame f =
		ends_frame(DMZ, IPPROTO_UDP, (struct ends){"10.7.0.5", 1000, "10.2.0.5", 53});
	struct frame inner = {.len = ETH_LEN};
	uint8_t packet[FRAME_MAX];
	uint16_t len;

	(void)state;
	inner.len += peer_open(&to_b, gateway_expect_sent(g, &f, WAN), inner.b + ETH_LEN);
	expect_ends(&inner, (struct ends){"10.1.0.5", 1000, "10.2.0.5", 53});
	len = ends_write(packet, IPPROTO_UDP, (struct ends){"10.2.0.5", 53, "10.1.0.5", 1000});
	f = peer_seal_packet(&from_b, 1, packet, len);
	expect_ends(
		gateway_expect_sent(g, &f, DMZ), (struct ends){"10.2.0.5", 53, "10.7.0.5", 1000});
	len = ends_write(packet, IPPROTO_UDP, (struct ends){"10.2.0.6", 2000, "10.1.0.5", 80});
	f = peer_seal_packet(&from_b, 2, packet, len);
	expect_ends(
		gateway_expect_sent(g, &f, DMZ), (struct ends){"10.2.0.6", 2000, "10.7.0.5", 80});
	f = ends_frame(DMZ, IPPROTO_UDP, (struct ends){"10.7.0.5", 80, "10.2.0.6", 2000});
	inner.len = (uint16_t)(ETH_LEN + peer_open(&to_b, gateway_expect_sent(g, &f, WAN),
						 inner.b + ETH_LEN));
	expect_ends(&inner, (struct ends){"10.1.0.5", 80, "10.2.0.6", 2000});
	peer_free(&to_b);
	peer_free(&from_b);
	gateway_free(g);
}

// A router on the path reports the packet as it was on the wire.
static void test_error_is_translated_back(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame out = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}),
		     error;
	const uint8_t *packet, *quoted;
	uint8_t buf[FRAME_MAX];

	(void)state;
	out = *gateway_expect_sent(g, &out, WAN);
	error = frame_raw(
		WAN, buf, error_write(buf, "198.51.100.99", OWN, 11, 0, frame_packet(&out)));
	packet = frame_packet(gateway_expect_sent(g, &error, LAN));
	quoted = packet + IP_LEN + 8;
	assert_int_equal(be32(packet + 12), ip_number("198.51.100.99"));
	assert_int_equal(be32(packet + 16), ip_number(CLIENT));
	assert_int_equal(checksum(packet, IP_LEN), 0);
	assert_int_equal(checksum(packet + IP_LEN, be16(packet + 2) - IP_LEN), 0);
	assert_int_equal(checksum(quoted, IP_LEN), 0);
	assert_int_equal(be32(quoted + 12), ip_number(CLIENT));
	assert_int_equal(be16(quoted + IP_LEN), 4000);
	gateway_free(g);
}

// So does the gateway itself.
static void test_own_error_is_about_the_received_packet(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame f = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53});
	const struct icmp_error time_exceeded = {11, 0, 0};

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	f.b[ETH_LEN + 8] = 1; // time to live
	ip_checksum_update(f.b + ETH_LEN);
	gateway_expect_drop(g, &f, DROP_TTL);
	assert_int_equal(g->n_sent, 1);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), time_exceeded,
		"10.1.0.1", CLIENT, &f);
	gateway_free(g);
}

static void test_rules_see_the_forwarded_packet(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES,
		.more = MASQUERADE "default_action = \"drop\";"
				   "rules = ( { name = \"client\"; action = \"accept\"; source = "
				   "\"10.1.0.5\"; out = \"wan\"; } );"});
	struct frame f = ends_frame(LAN, IPPROTO_UDP, (struct ends){OTHER, 4000, SERVER, 53});

	(void)state;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	expect_translated(g, WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4000}, LAN,
		(struct ends){SERVER, 53, CLIENT, 4000});
	gateway_expect_drop(g, &f, DROP_RULE_DROP);
	gateway_free(g);
}

static void test_exhausted(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES,
		.more = "nat = ( { name = \"out\"; action = \"source\"; proto = \"udp\"; out = "
			"\"wan\"; to = "
			"\"port\"; to_port = \"5000-5003\"; } );"});
	bool used[4] = {false};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const struct frame f = ends_frame(
			LAN, IPPROTO_UDP, (struct ends){CLIENT, (uint16_t)(100 + i), SERVER, 53});
		uint16_t port = be16(frame_packet(gateway_expect_sent(g, &f, WAN)) + IP_LEN);

		assert_in_range(port, 5000, 5003);
		assert_false(used[port - 5000]);
		used[port - 5000] = true;
	}
	const struct frame f = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 200, SERVER, 53});

	gateway_expect_drop(g, &f, DROP_NAT_PORTS);
	expect_event(g, EVENT_NAT_EXHAUSTED, LAN, CLIENT);
	gateway_expect_drop(g, &f, DROP_NAT_PORTS); // reported
	expect_no_event(g);
	gateway_free(g);
}

// Reports go on when the clock in ms of workers, of 32 bits, begins again.
static void test_exhausted_for_weeks(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES,
		.more = "nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = "
			"\"port\"; to_port = \"5000-5000\"; } );"});
	const struct frame f = ends_frame(LAN, IPPROTO_UDP, (struct ends){CLIENT, 200, SERVER, 53});

	(void)state;
	g->now = (UINT64_C(1) << 32) * TSC_HZ / 1000 - 11 * TSC_HZ;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 100, SERVER, 53}, WAN,
		(struct ends){OWN, 5000, SERVER, 53});
	for (unsigned int i = 0; i < 3; i++) {
		gateway_expect_drop(g, &f, DROP_NAT_PORTS);
		expect_event(g, EVENT_NAT_EXHAUSTED, LAN, CLIENT);
		expect_no_event(g);
		g->now += 9 * TSC_HZ;
		gateway_expect_drop(g, &f, DROP_NAT_PORTS);
		expect_no_event(g);
		g->now += 3 * TSC_HZ;
	}
	gateway_free(g);
}

// A binding lives as long as its flow.
static void test_reload_without_the_rule(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});

	(void)state;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	flow_gateway_reload(g, "", (struct site){.policies = POLICIES});
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	expect_translated(g, WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OWN, 4000}, LAN,
		(struct ends){SERVER, 53, CLIENT, 4000});
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4001, SERVER, 53}, WAN,
		(struct ends){CLIENT, 4001, SERVER, 53});
	gateway_free(g);
}

#define OTHER_OWN "192.0.2.9" // as long as the address that it replaces

static void lose_address(struct gateway *g, struct site site)
{
	char text[8192];
	struct conf *conf;

	site_a_conf(text, sizeof(text), site);
	for (char *at = text; (at = strstr(at, OWN)) != NULL; at += strlen(OTHER_OWN))
		memcpy(at, OTHER_OWN, strlen(OTHER_OWN));
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	gateway_reload(g, conf);
	conf_free(conf);
}

// The masquerade of a port lasts as long as its address: afterwards connections begin once more.
static void test_address_is_lost(void **state)
{
	const struct site site = {.policies = POLICIES, .more = MASQUERADE};
	struct gateway *g = site_a(site);

	(void)state;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	lose_address(g, site);
	for (unsigned int again = 0; again < 2; again++)
		expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
			(struct ends){OTHER_OWN, 4000, SERVER, 53});
	expect_translated(g, WAN, IPPROTO_UDP, (struct ends){SERVER, 53, OTHER_OWN, 4000}, LAN,
		(struct ends){SERVER, 53, CLIENT, 4000});
	assert_int_equal(flow_count(g->flows), 1);
	gateway_free(g);
}

// The first packet afterwards is a reply: it begins a flow of its sender, whichever of the ends was
// the first of both keys.
static void test_reply_after_the_address_is_lost(void **state)
{
	static const char *const server[] = {"198.51.100.3", "198.51.100.7"};
	const struct site site = {
		.policies = ",{ name = \"all\"; action = \"bypass\"; }", .more = MASQUERADE};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(server); i++) {
		const struct ip_addr addr = addr_of(server[i]);
		struct gateway *g = site_a(site);
		struct flow_view v;
		struct frame reply;

		expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, server[i], 53},
			WAN, (struct ends){OWN, 4000, server[i], 53});
		lose_address(g, site);
		reply = ends_frame(WAN, IPPROTO_UDP, (struct ends){server[i], 53, OWN, 4000});
		for (unsigned int n = 1; n <= 2; n++) {
			gateway_pass(g, &reply, 1); // to a station that is unknown so far
			v = flow_only(g);
			assert_true(ip_addr_equal(&v.key.addr[v.initiator], &addr));
			assert_false(v.replied);
			assert_int_equal(v.packets[v.initiator], n);
		}
		gateway_free(g);
	}
}

// Of own ports of ESP and IKE: a host that would become the gateway with such a port.
static void test_served_port(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES,
		.more = "nat = ( { name = \"as-wan\"; action = \"netmap\"; source = "
			"\"10.8.0.0/24\"; to = \"192.0.2.0/24\"; } );"});
	const struct frame f =
		ends_frame(LAN, IPPROTO_UDP, (struct ends){"10.8.0.1", 4500, SERVER, 4500});

	(void)state;
	gateway_expect_drop(g, &f, DROP_NAT_PORTS);
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){"10.8.0.1", 4501, SERVER, 4500}, WAN,
		(struct ends){OWN, 4501, SERVER, 4500});
	expect_translated(g, LAN, IPPROTO_TCP, (struct ends){"10.8.0.1", 4500, SERVER, 4500}, WAN,
		(struct ends){OWN, 4500, SERVER, 4500});
	gateway_free(g);
}

// ESP to an own address is for own SAs alone.
static void test_esp_of_a_client(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame f = frame_ip(
		LAN, (struct ipv4)FROM_TO(CLIENT, SERVER, .proto = IPPROTO_ESP, .len = 100));

	(void)state;
	assert_int_equal(be32(frame_packet(gateway_expect_sent(g, &f, WAN)) + 12), ip_number(OWN));
	f = frame_ip(WAN, (struct ipv4)FROM_TO(SERVER, OWN, .proto = IPPROTO_ESP, .len = 100));
	gateway_expect_drop(g, &f, DROP_NO_SA);
	gateway_free(g);
}

// A program of the host that sends with the ends of a client's connection has to wait for its end.
static void test_ends_of_the_host(void **state)
{
	struct gateway *g =
		site_a_host(WAN, (struct site){.policies = POLICIES, .more = MASQUERADE});

	(void)state;
	expect_translated(g, LAN, IPPROTO_UDP, (struct ends){CLIENT, 4000, SERVER, 53}, WAN,
		(struct ends){OWN, 4000, SERVER, 53});
	gateway_host_pass(g, ends_frame(WAN, IPPROTO_UDP, (struct ends){OWN, 4000, SERVER, 53}));
	expect_drops(g, DROP_CT_INVALID, 1);
	gateway_host_pass(g, ends_frame(WAN, IPPROTO_UDP, (struct ends){OWN, 4001, SERVER, 53}));
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, WAN);
	gateway_free(g);
}

// A service of the other site by the own outer address: the packet on the wire is for the tunnel.
static void test_port_forwarding_into_a_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){.policies = POLICIES,
		.more = "nat = ( { name = \"web\"; action = \"destination\"; destination = "
			"\"192.0.2.1\"; proto = \"udp\"; destination_port = \"443\"; to = "
			"\"10.2.0.5\"; },"
			"{ name = \"as-us\"; action = \"source\"; destination = \"10.2.0.5\"; to = "
			"\"10.1.0.1\"; } );"});
	struct peer to_b = peer_new(g, "to-b");
	struct frame f = ends_frame(WAN, IPPROTO_UDP, (struct ends){SERVER, 5000, OWN, 443});
	struct frame inner = {.len = ETH_LEN};

	(void)state;
	inner.len += peer_open(&to_b, gateway_expect_sent(g, &f, WAN), inner.b + ETH_LEN);
	expect_ends(&inner, (struct ends){"10.1.0.1", 5000, "10.2.0.5", 443});
	peer_free(&to_b);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_masquerade),
		pipeline_test(test_ports_are_kept_or_changed),
		pipeline_test(test_ping),
		pipeline_test(test_untranslated_reply_is_dropped),
		pipeline_test(test_forged_source_is_dropped),
		pipeline_test(test_port_forwarding),
		pipeline_test(test_hairpin),
		pipeline_test(test_netmap_through_a_tunnel),
		pipeline_test(test_error_is_translated_back),
		pipeline_test(test_own_error_is_about_the_received_packet),
		pipeline_test(test_rules_see_the_forwarded_packet),
		pipeline_test(test_port_forwarding_into_a_tunnel),
		pipeline_test(test_exhausted),
		pipeline_test(test_exhausted_for_weeks),
		pipeline_test(test_reload_without_the_rule),
		pipeline_test(test_address_is_lost),
		pipeline_test(test_reply_after_the_address_is_lost),
		pipeline_test(test_served_port),
		pipeline_test(test_esp_of_a_client),
		pipeline_test(test_ends_of_the_host),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
