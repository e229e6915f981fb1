// SPDX-License-Identifier: BSD-3-Clause
// Messages of a link that configure a kernel. Proves that the host behind a port gets no message
// that would give it routers, routes, addresses or neighbours, although a rule accepts all packets.
#include <netinet/in.h>

#include "peer.h"
#include "site_v6.h"

#define STATION       "2001:db8:1::5"
#define OWN           "2001:db8:1::1"
#define ROUTER        "fe80::5"
#define REDIRECT      5
#define ROUTER_ADVERT 134
#define REDIRECT_6    137

static const char rule[] = ", { name = \"any\"; host = true; action = \"accept\"; }";

// Gateway A with a host behind the port.
static struct gateway *gateway_with_host(uint16_t port)
{
	struct gateway *g =
		site_v6_a(OVER_V4, (struct site){.wan = "host = \"gw0\";", .rules = rule});

	gateway_host_add(g, port);
	return g;
}

static struct frame icmp6(const char *src, const char *dst, uint8_t type)
{
	struct frame f = frame_ip6(LAN, (struct ipv6)FROM_TO(src, dst, .proto = IPPROTO_ICMPV6,
						.hops = 255, .icmp_type = type));

	frame_nd_update(&f);
	return f;
}

static void expect_kept(struct gateway *g, struct frame f, enum drop reason)
{
	gateway_expect_drop(g, &f, reason);
	assert_int_equal(g->n_punted, 0);
}

static void test_router_advertisement(void **state)
{
	struct gateway *g = gateway_with_host(LAN);

	(void)state;
	gateway_expect_punted(g, icmp6(ROUTER, "ff02::1", 200)); // the rule does accept
	gateway_expect_punted(g, icmp6(STATION, OWN, 200));
	expect_kept(g, icmp6(ROUTER, "ff02::1", ROUTER_ADVERT), DROP_NOT_UNICAST);
	expect_kept(g, icmp6(STATION, OWN, ROUTER_ADVERT), DROP_LOCAL_UNSERVED);
	gateway_free(g);
}

// A fragment shows its type in the first one at most.
static void test_fragments_are_not_given(void **state)
{
	static const uint8_t first[8] = {IPPROTO_ICMPV6, 0, 0, 1, 0, 0, 0, 7};
	struct gateway *g = gateway_with_host(LAN);
	struct frame f =
		frame_ip6(LAN, (struct ipv6)FROM_TO(ROUTER, "ff02::1", .ext = first, .ext_len = 8,
				       .ext_proto = 44, .proto = IPPROTO_ICMPV6, .icmp_type = 200));

	(void)state;
	put16(f.b, 0x3333);
	memcpy(f.b + 2, (uint8_t[]){0, 0, 0, 1}, 4);
	expect_kept(g, f, DROP_NOT_UNICAST);
	f = frame_ip(LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "224.0.0.1", .proto = IPPROTO_ICMP, .frag = MF));
	memcpy(f.b, (uint8_t[]){1, 0, 0x5e, 0, 0, 1}, 6);
	expect_kept(g, f, DROP_NOT_UNICAST);
	gateway_free(g);
}

// A redirect to the host about a packet that it has sent.
static void test_redirects_are_not_given(void **state)
{
	struct gateway *g = gateway_with_host(LAN);
	struct frame out = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.1", "10.1.0.5"));
	uint8_t packet[FRAME_MAX];
	struct frame f = frame_raw(
		LAN, packet, error_write(packet, "10.1.0.5", "10.1.0.1", 3, 1, frame_packet(&out)));

	(void)state;
	gateway_host_sends(g, &out);
	gateway_pass(g, NULL, 0);
	gateway_expect_punted(g, f); // an error of another type
	f = frame_raw(LAN, packet,
		error_write(packet, "10.1.0.5", "10.1.0.1", REDIRECT, 1, frame_packet(&out)));
	expect_kept(g, f, DROP_LOCAL_UNSERVED);
	memcpy(f.b, (uint8_t[]){1, 0, 0x5e, 0, 0, 1}, 6);
	put32(f.b + ETH_LEN + 16, ip_number("224.0.0.1"));
	ip_checksum_update(f.b + ETH_LEN);
	expect_kept(g, f, DROP_NOT_UNICAST);
	expect_kept(g, icmp6(ROUTER, OWN, REDIRECT_6), DROP_LOCAL_UNSERVED);
	expect_kept(g, icmp6(ROUTER, "ff02::1", REDIRECT_6), DROP_NOT_UNICAST);
	// Nor does the host send any: stations on the link follow the gateway's routes.
	packet[12 + 3] ^= 4;
	out = frame_raw(LAN, packet,
		error_write(packet, "10.1.0.1", "10.1.0.5", REDIRECT, 1, frame_packet(&out)));
	gateway_host_sends(g, &out);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_HOST_FRAME, 1);
	gateway_free(g);
}

// Out of a tunnel nothing is about the link.
static void test_out_of_tunnel(void **state)
{
	static const uint8_t types[] = {133, ROUTER_ADVERT, 135, 136, REDIRECT_6};
	struct gateway *g = gateway_with_host(LAN);
	struct peer in = peer_new(g, "in");

	(void)state;
	for (unsigned int i = 0; i < sizeof(types); i++) {
		struct frame inner = icmp6("2001:db8:2::5", OWN, types[i]);

		expect_kept(g,
			peer_seal_packet(
				&in, i + 1, frame_packet(&inner), frame_packet_len(&inner)),
			DROP_LOCAL_UNSERVED);
	}
	peer_free(&in);
	gateway_free(g);
}

// ARP and neighbour discovery end at the gateway.
static void test_neighbours_are_not_given(void **state)
{
	struct gateway *g = gateway_with_host(LAN);
	struct frame f = frame_arp(LAN, 2, "10.1.0.5", "10.1.0.1");

	(void)state;
	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_punted, 0);
	f = frame_nd(LAN, 136, STATION, OWN, STATION, 0x60000000);
	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_punted, 0);
	gateway_free(g);
}

// As one for a host is.
static void test_source_route(void **state)
{
	static const uint8_t loose[] = {131, 7, 4, 10, 1, 0, 9, 0}; // RFC 791 3.1
	struct gateway *g = gateway_with_host(LAN);
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "224.0.0.5", .options = 8));

	(void)state;
	memcpy(f.b, (uint8_t[]){1, 0, 0x5e, 0, 0, 5}, 6);
	gateway_expect_punted(g, f);
	memcpy(f.b + ETH_LEN + IP_LEN, loose, sizeof(loose));
	ip_checksum_update(f.b + ETH_LEN);
	expect_kept(g, f, DROP_SOURCE_ROUTED);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_router_advertisement),
		pipeline_test(test_fragments_are_not_given),
		pipeline_test(test_redirects_are_not_given),
		pipeline_test(test_out_of_tunnel),
		pipeline_test(test_neighbours_are_not_given),
		pipeline_test(test_source_route),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
