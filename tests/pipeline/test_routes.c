// SPDX-License-Identifier: BSD-3-Clause
// Kinds of routes. Everything that is not in 10.1.0.0/24 or 2001:db8:1::/64 [LAN] has a default
// route by [WAN]; longer routes lead nowhere.
#include <netinet/in.h>

#include "match.h"
#include "packet_v6.h"
#include "peer.h"
#include "site.h"

#define SA(name, direction, spi, key)                                                              \
	"  { name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi "\"; local = "      \
	"\"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\"; "      \
	"auth_key = \"00112233445566778899aabbccddeeff001122" key "\"; }"

static const char base[] =
	"flows = { max = 1024; };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\", "
	"\"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\", "
	"\"2001:db8:f::1/64\" ]; } );\n"
	"routes = (\n"
	"  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },\n"
	"  { to = \"::/0\"; via = \"2001:db8:f::9\"; },\n"
	"  { to = \"10.7.0.0/16\"; type = \"prohibit\"; },\n"
	"  { to = \"10.8.0.0/16\"; type = \"unreachable\"; },\n"
	"  { to = \"10.9.0.0/16\"; type = \"blackhole\"; },\n"
	"  { to = \"10.1.0.192/26\"; type = \"blackhole\"; },\n"
	"  { to = \"2001:db8:7::/48\"; type = \"prohibit\"; },\n"
	"  { to = \"2001:db8:8::/48\"; type = \"unreachable\"; },\n"
	"  { to = \"2001:db8:9::/48\"; type = \"blackhole\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"sas = (\n" SA("out", "out", "0x1001", "33") ",\n" SA(
		"in", "in", "0x1002", "34") " );\n"
					    "policies = (\n"
					    "  { name = \"b\"; remote = \"10.9.2.0/24\"; action = "
					    "\"protect\"; out = \"out\"; in = "
					    "\"in\"; },\n"
					    "  { name = \"rest\"; action = \"bypass\"; } );\n";

static const struct icmp_error unreachable = {3, 1, 0}, prohibited = {3, 13, 0};

static struct gateway *site(void)
{
	return gateway_new(0, base);
}

// Drops a packet to the address, with an ICMP error or without.
static void expect_nowhere(
	struct gateway *g, const char *dst, enum drop drop, const struct icmp_error *error)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst));

	gateway_pass(g, &f, 1);
	expect_drops(g, drop, 1);
	expect_all_sent(g, error != NULL, LAN);
	if (error != NULL)
		expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), *error,
			"10.1.0.1", "10.1.0.5", &f);
}

static void test_nowhere(void **state)
{
	struct gateway *g = site();

	(void)state;
	expect_nowhere(g, "10.9.0.5", DROP_ROUTE_BLACKHOLE, NULL);
	expect_nowhere(g, "10.8.0.5", DROP_ROUTE_UNREACHABLE, &unreachable);
	expect_nowhere(g, "10.7.0.5", DROP_ROUTE_PROHIBIT, &prohibited);
	gateway_free(g);
}

static void expect_nowhere_v6(struct gateway *g, const char *dst, enum drop drop, uint8_t code)
{
	struct frame f = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", dst));

	gateway_expect_drop(g, &f, drop);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(frame_packet(&g->sent[0])[IP6_LEN], 1);
	assert_int_equal(frame_packet(&g->sent[0])[IP6_LEN + 1], code);
}

// As Linux: unreachable is no route, and not an address that does not answer.
static void test_nowhere_v6(void **state)
{
	struct frame f = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:9::5"));
	struct gateway *g = site();

	(void)state;
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_ROUTE_BLACKHOLE, 1);
	assert_int_equal(g->n_sent, 0);
	expect_nowhere_v6(g, "2001:db8:8::5", DROP_ROUTE_UNREACHABLE, 0);
	expect_nowhere_v6(g, "2001:db8:7::5", DROP_ROUTE_PROHIBIT, 1);
	gateway_free(g);
}

// A policy protects all that it matches: the route is for packets in clear.
static void test_policy_needs_no_route(void **state)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.9.2.5"));
	struct gateway *g = site();
	struct peer peer = peer_new(g, "out");
	uint8_t inner[FRAME_MAX];

	(void)state;
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, WAN);
	peer_open(&peer, &g->sent[0], inner);
	assert_int_equal(be32(inner + 16), ip_number("10.9.2.5"));
	peer_free(&peer);
	gateway_free(g);
}

// A source that a route drops may be a part of a protected network: nobody outside has it, but a
// peer whose remote is longer than the route.
static void test_source_nowhere(void **state)
{
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("10.9.1.5", "10.1.0.5"));
	struct gateway *g = site();
	struct peer peer = peer_new(g, "in");

	(void)state;
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_IP_SOURCE, 1);
	f = frame_ip(WAN, (struct ipv4)FROM_TO("10.1.0.200", "10.1.0.5"));
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_IP_SOURCE, 1);
	f = peer_seal_ip(&peer, 1, (struct ipv4)FROM_TO("10.9.2.5", "10.1.0.5"));
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, LAN);
	peer_free(&peer);
	gateway_free(g);
}

static void test_reply_nowhere(void **state)
{
	struct ipv4 ping = FROM_TO("10.9.1.5", "10.1.0.1", .proto = IPPROTO_ICMP, .icmp_type = 8);
	struct frame f = frame_ip(LAN, ping);
	struct gateway *g = site();

	(void)state;
	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_sent, 0);
	expect_drops(g, DROP_ROUTE_BLACKHOLE, 1);
	gateway_free(g);
}

static void test_match(void **state)
{
	struct match_query q = {.proto = IPPROTO_UDP};
	struct gateway *g = site();
	struct match m;

	(void)state;
	ip_addr_parse(&q.source, "10.1.0.5");
	ip_addr_parse(&q.destination, "10.8.0.5");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_ROUTE_UNREACHABLE);
	assert_string_equal(m.out_by->name, "rest");
	ip_addr_parse(&q.source, "10.8.0.5");
	ip_addr_parse(&q.destination, "10.1.0.5");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), -EHOSTUNREACH);
	gateway_free(g);
}

// An address in the networks of two ports is on the link of the longer one.
static void test_networks_overlap(void **state)
{
	static const char conf[] =
		"flows = { max = 1024; };\n"
		"ports = (\n"
		"  { name = \"a\"; device = \"net_null0\"; addresses = [ \"10.1.0.129/25\" ]; },\n"
		"  { name = \"b\"; device = \"net_null1\"; addresses = [ \"10.0.0.1/8\" ]; },\n"
		"  { name = \"c\"; device = \"net_null2\"; addresses = [ \"10.1.0.1/24\" ]; } );\n"
		"routes = ( { to = \"172.16.0.0/12\"; via = \"10.1.0.9\"; } );\n"
		"neighbours = (\n"
		"  { address = \"10.1.0.130\"; mac = \"02:00:00:00:02:00\"; },\n"
		"  { address = \"10.1.1.9\"; mac = \"02:00:00:00:02:01\"; },\n"
		"  { address = \"10.1.0.9\"; mac = \"02:00:00:00:02:02\"; } );\n"
		"policies = ( { name = \"all\"; action = \"bypass\"; } );\n";
	static const struct {
		const char *dst;
		uint16_t port;
	} rows[] = {{"10.1.0.130", 0}, {"10.1.1.9", 1}, {"10.1.0.9", 2}, {"172.16.0.9", 2}};
	struct gateway *g = gateway_new(0, conf);
	struct frame f;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		f = frame_ip(1, (struct ipv4)FROM_TO("10.7.0.5", rows[i].dst));
		gateway_expect_sent(g, &f, rows[i].port);
	}
	f = frame_ip(1, (struct ipv4)FROM_TO("10.7.0.5", "10.1.0.255"));
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_NOT_UNICAST, 1);
	gateway_free(g);
}

// The broadcast and anycast addresses of a network are hosts in a longer one, which has them.
static void test_hosts_of_longer_networks(void **state)
{
	static const char conf[] =
		"flows = { max = 1024; };\n"
		"ports = (\n"
		"  { name = \"a\"; device = \"net_null0\";\n"
		"    addresses = [ \"10.1.0.1/16\", \"2001:db8:1::99/64\" ]; },\n"
		"  { name = \"b\"; device = \"net_null1\";\n"
		"    addresses = [ \"10.1.255.254/31\", \"2001:db8:1::1/127\" ]; } );\n"
		"neighbours = (\n"
		"  { address = \"10.1.255.255\"; mac = \"02:00:00:00:02:00\"; },\n"
		"  { address = \"2001:db8:1::\"; mac = \"02:00:00:00:02:01\"; } );\n"
		"policies = ( { name = \"all\"; action = \"bypass\"; } );\n";
	struct gateway *g = gateway_new(0, conf);
	struct frame f = frame_ip(0, (struct ipv4)FROM_TO("10.7.0.5", "10.1.255.255"));

	(void)state;
	gateway_expect_sent(g, &f, 1);
	f = frame_ip6(0, (struct ipv6)FROM_TO("2001:db8:7::5", "2001:db8:1::"));
	gateway_expect_sent(g, &f, 1);
	f = frame_ip(0, (struct ipv4)FROM_TO("10.7.0.5", "10.1.0.0"));
	gateway_expect_drop(g, &f, DROP_NOT_UNICAST);
	gateway_free(g);
}

enum { SIX = DMZ };

// Ports with stations outside their networks, and with IPv4 by next hops of IPv6.
static struct gateway *site_on_link(void)
{
	static const char conf[] =
		"flows = { max = 1024; };\n"
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
		"  { name = \"wan\"; device = \"net_null1\";\n"
		"    addresses = [ \"192.0.2.1/32\", \"2001:db8:f::1/64\" ]; },\n"
		"  { name = \"six\"; device = \"net_null2\"; addresses = [ \"2001:db8:6::1/64\" ]; "
		"} );\n"
		"routes = (\n"
		"  { to = \"0.0.0.0/0\"; via = \"fe80::1\"; port = \"wan\"; },\n"
		"  { to = \"10.7.0.0/16\"; via = \"2001:db8:6::2\"; },\n"
		"  { to = \"10.8.0.0/16\"; via = \"fe80::3\"; port = \"six\"; },\n"
		"  { to = \"10.3.0.5/32\"; port = \"lan\"; },\n"
		"  { to = \"2001:db8:3::5/128\"; port = \"six\"; } );\n"
		"neighbours = (\n"
		"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
		"  { address = \"fe80::1\"; mac = \"02:00:00:00:02:01\"; port = \"wan\"; },\n"
		"  { address = \"2001:db8:6::2\"; mac = \"02:00:00:00:02:02\"; } );\n"
		"sas = (\n"
		"  { name = \"out\"; direction = \"out\"; spi = \"0x1001\"; local = \"192.0.2.1\"; "
		"remote = \"203.0.113.9\"; cipher = \"null\"; auth = \"hmac-sha1-96\"; "
		"auth_key = \"00112233445566778899aabbccddeeff00112233\"; },\n"
		"  { name = \"in\"; direction = \"in\"; spi = \"0x1002\"; local = \"192.0.2.1\"; "
		"remote = \"203.0.113.9\"; cipher = \"null\"; auth = \"hmac-sha1-96\"; "
		"auth_key = \"00112233445566778899aabbccddeeff00112234\"; } );\n"
		"policies = (\n"
		"  { name = \"b\"; remote = \"10.2.0.0/24\"; action = \"protect\"; out = \"out\"; "
		"in = \"in\"; },\n"
		"  { name = \"rest\"; action = \"bypass\"; } );\n";

	return gateway_new(0, conf);
}

static void test_station_on_link(void **state)
{
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("198.51.100.5", "10.3.0.5"));
	struct gateway *g = site_on_link();

	(void)state;
	gateway_pass(g, &f, 1);
	expect_event(g, EVENT_NEIGH_NEEDED, LAN, "10.3.0.5");
	f = frame_ip6(WAN, (struct ipv6)FROM_TO("2001:db8:9::5", "2001:db8:3::5"));
	gateway_pass(g, &f, 1);
	expect_event(g, EVENT_NEIGH_NEEDED, SIX, "2001:db8:3::5");
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.3.0.5", "10.7.0.5", .ttl = 1));
	gateway_expect_drop(g, &f, DROP_TTL);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(be32(frame_packet(&g->sent[0]) + 12), ip_number("10.1.0.1"));
	gateway_free(g);
}

// An IPv4 packet, also of ESP, in a frame to the neighbour.
static void expect_v4_to(struct gateway *g, const char *dst, uint16_t port)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst));

	gateway_expect_sent(g, &f, port);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(port), 6);
	assert_int_equal(be16(g->sent[0].b + 12), 0x0800);
	assert_int_equal(frame_packet(&g->sent[0])[0] >> 4, 4);
}

// RFC 8950
static void test_v4_by_v6(void **state)
{
	struct gateway *g = site_on_link();
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.8.0.9"));

	(void)state;
	for (unsigned int i = 0; i < 2; i++) { // the first packet of a flow, and the next one
		expect_v4_to(g, "198.51.100.5", WAN);
		expect_v4_to(g, "10.2.0.5", WAN);
		expect_v4_to(g, "10.7.0.5", SIX);
	}
	gateway_pass(g, &f, 1);
	expect_event(g, EVENT_NEIGH_NEEDED, SIX, "fe80::3");
	gateway_free(g);
}

// A port without IPv4: another own address, as Linux does.
static void test_error_by_v6(void **state)
{
	struct frame f = frame_ip(SIX, (struct ipv4)FROM_TO("10.7.0.5", "10.1.0.5", .ttl = 1));
	struct gateway *g = site_on_link();

	(void)state;
	gateway_expect_drop(g, &f, DROP_TTL);
	expect_all_sent(g, 1, SIX);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
		(struct icmp_error){11, 0, 0}, "10.1.0.1", "10.7.0.5", &f);
	gateway_free(g);
}

// The source of an error about a packet from there, in any address family.
static void expect_source(struct gateway *g, const char *from, const char *source)
{
	const bool v4 = strchr(from, ':') == NULL;
	struct ip_addr addr;
	struct frame f =
		v4 ? frame_ip(LAN, (struct ipv4)FROM_TO(from, "10.4.0.9", .ttl = 1))
		   : frame_ip6(LAN, (struct ipv6)FROM_TO(from, "2001:db8:3::9", .hops = 1));

	gateway_expect_drop(g, &f, DROP_TTL);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(ip_addr_parse(&addr, source), 0);
	assert_memory_equal(
		frame_packet(&g->sent[0]) + (v4 ? 12 : 8), addr.b + (v4 ? 12 : 0), v4 ? 4 : 16);
}

// Of several addresses in a network, and towards a router outside of all, the first is the source:
// deprecated ones come last (RFC 6724 5, rule 3).
static void test_first_address_is_the_source(void **state)
{
	struct gateway *g = gateway_new(0,
		"ports = ( { name = \"lan\"; device = \"net_null0\";"
		" addresses = [ \"10.1.0.3/24\", \"10.1.0.1/24\", \"10.1.1.1/24\","
		" \"2001:db8:1::3/64\", \"2001:db8:1::1/64\", \"2001:db8:2::1/64\" ]; } );"
		"routes = ( { to = \"10.2.0.0/16\"; via = \"10.1.0.2\"; },"
		" { to = \"10.3.0.0/16\"; via = \"10.1.1.2\"; },"
		" { to = \"10.4.0.0/16\"; port = \"lan\"; },"
		" { to = \"2001:db8:3::/48\"; via = \"fe80::2\"; port = \"lan\"; } );"
		"policies = ( { name = \"all\"; action = \"bypass\"; } );");

	(void)state;
	expect_source(g, "10.1.0.5", "10.1.0.3");
	expect_source(g, "10.2.0.5", "10.1.0.3");
	expect_source(g, "10.3.0.5", "10.1.1.1");
	expect_source(g, "10.4.0.5", "10.1.0.3");
	expect_source(g, "2001:db8:1::5", "2001:db8:1::3");
	expect_source(g, "2001:db8:2::5", "2001:db8:2::1");
	expect_source(g, "2001:db8:3::5", "2001:db8:1::3");
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_nowhere),
		pipeline_test(test_nowhere_v6),
		pipeline_test(test_policy_needs_no_route),
		pipeline_test(test_source_nowhere),
		pipeline_test(test_reply_nowhere),
		pipeline_test(test_match),
		pipeline_test(test_networks_overlap),
		pipeline_test(test_hosts_of_longer_networks),
		pipeline_test(test_station_on_link),
		pipeline_test(test_v4_by_v6),
		pipeline_test(test_error_by_v6),
		pipeline_test(test_first_address_is_the_source),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
