// SPDX-License-Identifier: BSD-3-Clause
// An IKE daemon on the host behind a port, without ike.via. Proves that IKE reaches it, also of
// peers behind NATs, whose ports change, and that ESP in UDP, at the same port, does not.
#include <netinet/in.h>

#include "ike_host.h"
#include "peer.h"

static const char rules[] =
	"rules = ("
	" { name = \"ike\"; host = true; action = \"accept\"; in = \"wan\"; proto = \"udp\";"
	"   destination_port = \"500\"; },"
	" { name = \"ike-nat\"; host = true; action = \"accept\"; in = \"wan\"; proto = \"udp\";"
	"   destination_port = \"4500\"; } );";

// Gateway A with a host behind port WAN, and these settings of its SAs.
static struct gateway *gateway_with_ike(const char *sa)
{
	struct gateway *g = site_a((struct site){.sa = sa,
		.wan = "host = \"wan0\";",
		.more = rules,
		.policies = BYPASS(500) BYPASS(4500)});

	gateway_host_add(g, WAN);
	return g;
}

// With or without the non-ESP marker.
static struct frame datagram(uint16_t from, uint16_t to, bool marked)
{
	struct frame f = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1", .sport = from, .dport = to));

	put32(f.b + ETH_LEN + IP_LEN + UDP_LEN, marked ? 0 : 0x1234);
	return f;
}

static void expect_sent_to(struct gateway *g, uint16_t from, uint16_t to)
{
	struct frame f = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.1", "192.0.2.2", .sport = from, .dport = to));

	gateway_host_sends(g, &f);
	gateway_pass(g, NULL, 0);
	expect_all_sent(g, 1, WAN);
	assert_memory_equal(frame_packet(&g->sent[0]), frame_packet(&f), frame_packet_len(&f));
}

// A datagram that is not IKE is for an SA, also before IKE has added one.
static void expect_no_sa(struct gateway *g, struct frame f)
{
	gateway_expect_drop(g, &f, DROP_NO_SA);
	assert_int_equal(g->n_punted, 0);
}

static void test_to_host(void **state)
{
	struct gateway *g = gateway_with_ike(NULL);

	(void)state;
	gateway_expect_punted(g, datagram(IKE, IKE, false));
	expect_sent_to(g, IKE, IKE);
	gateway_expect_punted(g, datagram(NATT, NATT, true));
	gateway_expect_punted(g, datagram(NATT, NATT, true)); // of a flow
	expect_sent_to(g, NATT, NATT);
	expect_no_sa(g, datagram(NATT, NATT, false)); // with the addresses and ports of that flow
	gateway_free(g);
}

// From the ports that a NAT chooses, in both directions.
static void test_ports_behind_nat(void **state)
{
	static const uint16_t ports[] = {1024, 20000, 65535};
	struct gateway *g = gateway_with_ike(NULL);

	(void)state;
	expect_sent_to(g, NATT, NATT); // the host begins
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		gateway_expect_punted(g, datagram(ports[i], IKE, false));
		gateway_expect_punted(g, datagram(ports[i], NATT, true));
		expect_sent_to(g, NATT, ports[i]);
		gateway_expect_punted(g, datagram(ports[i], NATT, true));
		expect_no_sa(g, datagram(ports[i], NATT, false));
	}
	gateway_free(g);
}

// ESP in UDP for an SA is decapsulated, from any port, and keepalives are consumed.
static void test_esp_in_udp_is_not_given(void **state)
{
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5");
	struct gateway *g = gateway_with_ike(IN_UDP);
	struct peer in = peer_new(g, "from-b");
	struct frame f = peer_seal_ip(&in, 1, ip);
	struct frame keepalive = datagram(20000, NATT, false);

	(void)state;
	gateway_expect_punted(g, datagram(20000, NATT, true));
	f = udp_insert(&f, 20000, NATT);
	gateway_expect_sent(g, &f, LAN);
	assert_int_equal(g->n_punted, 0);
	keepalive = frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1", .sport = 20000,
					  .dport = NATT, .len = IP_LEN + UDP_LEN + 1));
	keepalive.b[ETH_LEN + IP_LEN + UDP_LEN] = 0xff;
	gateway_pass(g, &keepalive, 1);
	assert_int_equal(g->n_punted, 0);
	assert_int_equal(g->last.keepalives_in, 1);
	peer_free(&in);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_to_host),
		pipeline_test(test_ports_behind_nat),
		pipeline_test(test_esp_in_udp_is_not_given),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
