// SPDX-License-Identifier: BSD-3-Clause
// IPv6 on the links: the packets that the gateway answers and drops, link-local addresses, rules.
// Neighbour discovery: test_v6_nd.c.
#include <netinet/in.h>

#include "addrs.h"
#include "dad.h"
#include "site_v6.h"

#define LINK_LOCAL "fe80::ff:fe00:100" // of port LAN, by its MAC 02:00:00:00:01:00
#define HOST       "2001:db8:1::5"
#define OWN        "2001:db8:1::1"

static void expect_error6(const struct frame *f, uint8_t type, const char *from, const char *to)
{
	const uint8_t *p = frame_packet(f);

	assert_int_equal(p[IP6_LEN], type);
	assert_memory_equal(p + 8, ip6_octets(from), 16);
	assert_memory_equal(p + 24, ip6_octets(to), 16);
}

// RFC 4862 5.4: an unassigned address is neither used as a source nor answered for.
static void test_not_assigned(void **state)
{
	struct frame late = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, "2001:db8:2::5", .hops = 1));
	struct ipv6 ping = FROM_TO(HOST, OWN, .proto = IPPROTO_ICMPV6, .icmp_type = 128);
	struct frame echo = frame_ip6(LAN, ping),
		     udp = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, OWN));
	struct ip_addr own = addr_of(OWN), other = addr_of("2001:db8:f::1");

	(void)state;
	gateway_expect_drop(v6_a, &late, DROP_TTL);
	expect_error6(&v6_a->sent[0], 3, OWN, HOST);
	echo.b[6 + 5] ^=
		0x55; // from a station that is no neighbour yet: directly to its link address
	gateway_expect_sent(v6_a, &echo, LAN);
	assert_memory_equal(v6_a->sent[0].b, echo.b + 6, 6);
	assert_int_equal(dad_add(harness_dad, LAN, &own), 0);
	gateway_expect_drop(v6_a, &late, DROP_TTL);
	expect_all_sent(v6_a, 1, LAN);
	expect_error6(&v6_a->sent[0], 3, "2001:db8:f::1", HOST);
	gateway_expect_drop(v6_a, &echo, DROP_LOCAL_UNSERVED);
	assert_int_equal(v6_a->n_sent, 0);
	gateway_expect_drop(v6_a, &udp, DROP_LOCAL_UNSERVED);
	assert_int_equal(v6_a->n_sent, 0);
	ping.dst = "2001:db8:1::"; // the anycast address of routers
	echo = frame_ip6(LAN, ping);
	gateway_expect_drop(v6_a, &echo, DROP_LOCAL_UNSERVED);
	// None is left.
	assert_int_equal(dad_add(harness_dad, WAN, &other), 0);
	gateway_expect_drop(v6_a, &late, DROP_TTL);
	assert_int_equal(v6_a->n_sent, 0);
}

// Rules are evaluated again after a change: for a reply, as for the request.
static void test_answer_after_change(void **state)
{
	static const char rules[] = ", { name = \"ping\"; proto = \"icmpv6\"; icmp = 128; "
				    "action = \"accept\"; in = \"lan\"; },"
				    "{ name = \"rest\"; action = \"drop\"; }";
	struct ipv6 out = FROM_TO(HOST, "2001:db8:9::5", .proto = IPPROTO_ICMPV6, .icmp_type = 128);
	struct ipv6 back =
		FROM_TO("2001:db8:9::5", HOST, .proto = IPPROTO_ICMPV6, .icmp_type = 129);
	struct ipv6 other =
		FROM_TO("2001:db8:9::5", HOST, .proto = IPPROTO_ICMPV6, .icmp_type = 128);
	struct frame request = frame_ip6(LAN, out), reply = frame_ip6(WAN, back),
		     asks = frame_ip6(WAN, other);

	(void)state;
	gateway_free(v6_a);
	v6_a = site_v6_a(OVER_V6, (struct site){.rules = rules});
	gateway_expect_sent(v6_a, &request, WAN);
	gateway_generation_next(v6_a);
	gateway_expect_sent(v6_a, &reply, LAN);
	gateway_expect_drop(v6_a, &asks, DROP_RULE_DROP);
}

static struct ipv6 ping(const char *src, const char *dst)
{
	return (struct ipv6)FROM_TO(src, dst, .proto = IPPROTO_ICMPV6, .icmp_type = 128);
}

static void expect_reply(const char *from, const char *to, uint16_t len)
{
	const uint8_t *p = frame_packet(&v6_a->sent[0]);

	assert_int_equal(frame_packet_len(&v6_a->sent[0]), len);
	assert_int_equal(p[6], IPPROTO_ICMPV6);
	assert_memory_equal(p + 8, ip6_octets(from), 16);
	assert_memory_equal(p + 24, ip6_octets(to), 16);
	assert_int_equal(p[IP6_LEN], 129);
	assert_int_equal(ip6_checksum(p, IP6_LEN, len, IPPROTO_ICMPV6), 0);
}

static void test_echo(void **state)
{
	static const uint8_t options[8] = {IPPROTO_ICMPV6, 0, 1, 4};
	static const struct {
		const char *src, *dst, *from;
	} rows[] = {
		{HOST, OWN, OWN},
		{HOST, "2001:db8:f::1", "2001:db8:f::1"}, // of another port
		{HOST, "2001:db8:1::", OWN}, // the anycast address of the network's routers
		{"fe80::5", LINK_LOCAL, LINK_LOCAL},
		{"fe80::5", OWN, OWN},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ipv6 ip = ping(rows[i].src, rows[i].dst);
		struct frame f = frame_ip6(LAN, ip);

		gateway_expect_sent(v6_a, &f, LAN);
		expect_reply(rows[i].from, rows[i].src, 100);
		ip.ext = options;
		ip.ext_len = 8;
		ip.ext_proto = IPPROTO_HOPOPTS;
		f = frame_ip6(LAN, ip);
		gateway_expect_sent(v6_a, &f, LAN);
		expect_reply(rows[i].from, rows[i].src, 92); // without them
	}
}

static void expect_error_sent(uint8_t type, uint8_t code, uint32_t param)
{
	const uint8_t *icmp = frame_packet(&v6_a->sent[0]) + IP6_LEN;

	expect_all_sent(v6_a, 1, LAN);
	assert_int_equal(icmp[0], type);
	assert_int_equal(icmp[1], code);
	assert_int_equal(be32(icmp + 4), param);
	assert_int_equal(ip6_checksum(frame_packet(&v6_a->sent[0]), IP6_LEN,
				 frame_packet_len(&v6_a->sent[0]), IPPROTO_ICMPV6),
		0);
}

static void test_unserved(void **state)
{
	static const uint8_t unknown[8] = {IPPROTO_UDP, 0, 0x9e, 4}; // reject
	static const uint8_t quiet[8] = {IPPROTO_UDP, 0, 0x5e, 4};   // drop
	struct ipv6 ip = FROM_TO(HOST, OWN, .dport = 53);
	struct frame f = frame_ip6(LAN, ip);

	(void)state;
	gateway_expect_drop(v6_a, &f, DROP_LOCAL_UNSERVED);
	expect_error_sent(1, 4, 0);
	ip.ext = unknown;
	ip.ext_len = 8;
	ip.ext_proto = IPPROTO_DSTOPTS;
	f = frame_ip6(LAN, ip);
	gateway_expect_drop(v6_a, &f, DROP_EXT_HEADERS);
	expect_error_sent(4, 2, 42);
	ip.ext = quiet;
	f = frame_ip6(LAN, ip);
	gateway_expect_drop(v6_a, &f, DROP_EXT_HEADERS);
	assert_int_equal(v6_a->n_sent, 0);
	f = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, OWN, .proto = 253));
	gateway_expect_drop(v6_a, &f, DROP_LOCAL_UNSERVED);
	expect_error_sent(4, 1, 6);
	f = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, "2001:db8:8::1"));
	gateway_expect_drop(v6_a, &f, DROP_NO_ROUTE);
	expect_error_sent(1, 0, 0);
	f = frame_ip6(LAN,
		(struct ipv6)FROM_TO(HOST, "2001:db8:2::5", .proto = IPPROTO_TCP, .dport = 23));
	gateway_expect_drop(v6_a, &f, DROP_RULE_REJECT);
	expect_all_sent(v6_a, 1, LAN);
	assert_int_equal(frame_packet(&v6_a->sent[0])[6], IPPROTO_TCP);
	assert_int_equal(frame_packet(&v6_a->sent[0])[IP6_LEN + 13], 0x14); // RST, ACK
	f = frame_ip6(LAN,
		(struct ipv6)FROM_TO(HOST, "2001:db8:2::5", .proto = IPPROTO_TCP, .dport = 22));
	gateway_expect_sent(v6_a, &f, WAN);
}

static void test_headers(void **state)
{
	static const uint8_t routing[8] = {IPPROTO_UDP, 0, 0, 1};   // one segment is left
	static const uint8_t done[8] = {IPPROTO_UDP, 0, 0, 0};      // none is
	static const uint8_t endless[8] = {IPPROTO_UDP, 200, 1, 4}; // ends after the packet
	static const uint8_t early[8] = {
		IPPROTO_HOPOPTS, 0, 1, 4}; // the first header is not the first
	static const struct {
		const char *src, *dst;
		const uint8_t *ext;
		uint8_t proto;
		enum drop drop;
	} rows[] = {
		{HOST, "2001:db8:2::5", routing, IPPROTO_ROUTING, DROP_SOURCE_ROUTED},
		{HOST, "2001:db8:2::5", endless, IPPROTO_DSTOPTS, DROP_EXT_HEADERS},
		{HOST, "2001:db8:2::5", early, IPPROTO_DSTOPTS, DROP_EXT_HEADERS},
		{"::ffff:10.1.0.5", "2001:db8:2::5", NULL, 0, DROP_IP_SOURCE},
		{HOST, "::ffff:10.2.0.5", NULL, 0, DROP_IP_SOURCE},
		{"::", "2001:db8:2::5", NULL, 0, DROP_IP_SOURCE},
		{"::1", "2001:db8:2::5", NULL, 0, DROP_IP_SOURCE},
		{"ff02::5", "2001:db8:2::5", NULL, 0, DROP_IP_SOURCE},
		{"fe80::5", "2001:db8:2::5", NULL, 0, DROP_IP_SOURCE}, // must not leave its link
		{HOST, "fe80::7", NULL, 0, DROP_NOT_UNICAST},
		{HOST, "fe80::ff:fe00:101", NULL, 0, DROP_NOT_UNICAST}, // of another port
		{HOST, "ff0e::1", NULL, 0, DROP_NOT_UNICAST},
		{HOST, "::1", NULL, 0, DROP_NOT_UNICAST},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ipv6 ip = FROM_TO(rows[i].src, rows[i].dst, .ext = rows[i].ext,
			.ext_len = rows[i].ext != NULL ? 8 : 0, .ext_proto = rows[i].proto);
		struct frame f = frame_ip6(LAN, ip);

		gateway_expect_drop(v6_a, &f, rows[i].drop);
		assert_int_equal(v6_a->n_sent, 0);
	}
	struct frame f = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, "2001:db8:2::5", .ext = done,
						.ext_len = 8, .ext_proto = IPPROTO_ROUTING));

	gateway_expect_sent(v6_a, &f, WAN);
}

// RFC 8200 4, 4.4: the destination reports options that it cannot process.
static void test_headers_to_gateway(void **state)
{
	static const uint8_t routing[8] = {IPPROTO_UDP, 0, 0, 1};
	static const uint8_t early[8] = {IPPROTO_HOPOPTS, 0, 1, 4};
	struct ipv6 ip =
		FROM_TO(HOST, OWN, .ext = routing, .ext_len = 8, .ext_proto = IPPROTO_ROUTING);
	struct frame f = frame_ip6(LAN, ip);

	(void)state;
	gateway_expect_drop(v6_a, &f, DROP_SOURCE_ROUTED);
	expect_error_sent(4, 0, 42);
	ip.ext = early;
	ip.ext_proto = IPPROTO_DSTOPTS;
	f = frame_ip6(LAN, ip);
	gateway_expect_drop(v6_a, &f, DROP_EXT_HEADERS);
	expect_error_sent(4, 1, 40);
	// Not to an outside host that uses a source address of the tunnel's other end.
	f = frame_ip6(WAN, (struct ipv6)FROM_TO("2001:db8:2::5", OWN, .ext = routing, .ext_len = 8,
				   .ext_proto = IPPROTO_ROUTING));
	gateway_expect_drop(v6_a, &f, DROP_SOURCE_ROUTED);
	assert_int_equal(v6_a->n_sent, 0);
}

static void test_frames(void **state)
{
	struct frame f = frame_ip6(LAN, (struct ipv6)FROM_TO(HOST, "2001:db8:2::5"));
	struct frame bad;

	(void)state;
	bad = f;
	bad.len = ETH_LEN + 39;
	gateway_expect_drop(v6_a, &bad, DROP_FRAME_SHORT);
	bad = f;
	bad.len--;
	gateway_expect_drop(v6_a, &bad, DROP_IP_TRUNCATED);
	bad = f;
	bad.b[ETH_LEN] = 0x45;
	gateway_expect_drop(v6_a, &bad, DROP_IP_HEADER);
	bad = f;
	bad.b[0] = 0x33;
	bad.b[1] = 0x33;
	gateway_expect_drop(v6_a, &bad, DROP_NOT_UNICAST);
	bad = f;
	bad.len = (uint16_t)(bad.len + 9); // Ethernet's padding
	gateway_expect_sent(v6_a, &bad, WAN);
	gateway_expect_sent(v6_a, &f, WAN);
	assert_int_equal(v6_a->sent[0].len, 2 * ETH_LEN - ETH_LEN + 100 + 40 + 8 + 8 + 2 + 2 + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		v6_a_test(test_not_assigned),
		v6_a_test(test_answer_after_change),
		v6_a_test(test_echo),
		v6_a_test(test_unserved),
		v6_a_test(test_headers),
		v6_a_test(test_headers_to_gateway),
		v6_a_test(test_frames),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
