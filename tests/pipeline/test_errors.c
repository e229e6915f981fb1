// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors that the gateway sends (RFC 792, RFC 1812 4.3). Proves their causes, destinations and
// source addresses, and when none is sent.
#include <netinet/in.h>

#include "peer.h"
#include "site.h"

static const struct icmp_error time_exceeded = {11, 0, 0}, net_unreachable = {3, 0, 0},
			       protocol_unreachable = {3, 2, 0}, port_unreachable = {3, 3, 0};

// A packet in clear, and the error that is sent by its ingress port.
static void check_rows(const char *name, uint16_t port, struct ipv4 ip, enum drop drop,
	struct icmp_error error, const char *from)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(port, ip);

	print_message("%s\n", name);
	gateway_expect_drop(g, &f, drop);
	expect_all_sent(g, 1, port);
	assert_int_equal(g->last.originated, 1);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(port), 6);
	expect_error(
		frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), error, from, ip.src, &f);
	assert_int_equal(frame_packet(&g->sent[0])[8], 64);
	gateway_free(g);
}

static void test_time_exceeded(void **state)
{
	(void)state;
	check_rows("to B", LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1), DROP_TTL,
		time_exceeded, "10.1.0.1");
	check_rows("to the internet", LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "198.51.100.9", .ttl = 1), DROP_TTL, time_exceeded,
		"10.1.0.1");
	check_rows("from the internet", WAN,
		(struct ipv4)FROM_TO("198.51.100.9", "10.1.0.5", .ttl = 1), DROP_TTL, time_exceeded,
		"192.0.2.1");
	check_rows("echo request", LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1, .proto = 1, .icmp_type = 8),
		DROP_TTL, time_exceeded, "10.1.0.1");
	check_rows("long", LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1, .len = 1500),
		DROP_TTL, time_exceeded, "10.1.0.1");
	check_rows("options", LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1, .options = 40, .len = 80),
		DROP_TTL, time_exceeded, "10.1.0.1");
}

static void test_ttl_0(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));

	(void)state;
	f.b[ETH_LEN + 8] = 0;
	ip_checksum_update(f.b + ETH_LEN);
	gateway_expect_drop(g, &f, DROP_TTL);
	expect_all_sent(g, 1, LAN);
	gateway_free(g);
}

static void test_unreachable(void **state)
{
	(void)state;
	check_rows("no route", LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.18.0.9"), DROP_NO_ROUTE,
		net_unreachable, "10.1.0.1");
	check_rows("UDP to the gateway", LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .dport = 53), DROP_LOCAL_UNSERVED,
		port_unreachable, "10.1.0.1");
	check_rows("TCP to the gateway", LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .proto = 6), DROP_LOCAL_UNSERVED,
		port_unreachable, "10.1.0.1");
	check_rows("GRE to the gateway", LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .proto = 47), DROP_LOCAL_UNSERVED,
		protocol_unreachable, "10.1.0.1");
	check_rows("UDP from outside", WAN, (struct ipv4)FROM_TO("198.51.100.9", "192.0.2.1"),
		DROP_LOCAL_UNSERVED, port_unreachable, "192.0.2.1");
	// Time to live 1 suffices for local delivery.
	check_rows("last hop", LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .ttl = 1),
		DROP_LOCAL_UNSERVED, port_unreachable, "10.1.0.1");
}

// RFC 1812 4.3.2.7
static void test_silence(void **state)
{
	static const struct {
		const char *name;
		uint16_t port;
		struct ipv4 ip;
		enum drop drop;
	} rows[] = {
		{"about an error", LAN,
			FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1, .proto = 1, .icmp_type = 3),
			DROP_CT_INVALID},
		{"about time exceeded", LAN,
			FROM_TO("10.1.0.5", "198.18.0.9", .proto = 1, .icmp_type = 11),
			DROP_CT_INVALID},
		{"about an error to the gateway", LAN,
			FROM_TO("10.1.0.5", "10.1.0.1", .proto = 1, .icmp_type = 3),
			DROP_LOCAL_UNSERVED},
		{"about an echo reply to the gateway", LAN,
			FROM_TO("10.1.0.5", "10.1.0.1", .proto = 1), DROP_LOCAL_UNSERVED},
		{"to a broadcast address", LAN, FROM_TO("10.1.0.255", "198.18.0.9"),
			DROP_IP_SOURCE},
		{"about what policy refuses", LAN, FROM_TO("10.1.0.5", "203.0.113.9", .ttl = 1),
			DROP_POLICY_DISCARD},
		{"about what policy does not know", WAN, FROM_TO("192.88.99.9", "10.1.0.5"),
			DROP_NO_POLICY},
		{"about clear text", WAN, FROM_TO("10.2.0.5", "10.1.0.5", .ttl = 1),
			DROP_CLEAR_TEXT},
		{"about bad ESP", WAN, FROM_TO("192.0.2.2", "192.0.2.1", .proto = 50), DROP_NO_SA},
	};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = frame_ip(rows[i].port, rows[i].ip);

		print_message("%s\n", rows[i].name);
		gateway_pass(g, &f, 1);
		assert_int_equal(g->n_sent, 0);
		assert_int_equal(g->last.originated, 0);
		assert_int_equal(g->last.errors_suppressed, 0);
		expect_drops(g, rows[i].drop, 1);
	}
	gateway_free(g);
}

// Through a tunnel: the error is sent through it, from an address that its policy covers.
static void test_through_tunnel(void **state)
{
	static const struct {
		const char *name;
		struct ipv4 ip;
		enum drop drop;
		struct icmp_error error;
	} rows[] = {
		{"time exceeded", FROM_TO("10.2.0.5", "10.1.0.5", .ttl = 1), DROP_TTL, {11, 0, 0}},
		{"port unreachable", FROM_TO("10.2.0.5", "10.1.0.1"), DROP_LOCAL_UNSERVED,
			{3, 3, 0}},
		{"protocol unreachable", FROM_TO("10.2.0.5", "10.1.0.1", .proto = 47),
			DROP_LOCAL_UNSERVED, {3, 2, 0}},
	};
	struct gateway *g = site_a((struct site){0});
	struct peer b_in = peer_new(g, "from-b"), b_out = peer_new(g, "to-b");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame about = frame_ip(WAN, rows[i].ip);
		struct frame f = peer_seal_ip(&b_in, (uint32_t)i + 1, rows[i].ip);
		uint8_t inner[FRAME_MAX];

		print_message("%s\n", rows[i].name);
		gateway_expect_drop(g, &f, rows[i].drop);
		expect_all_sent(g, 1, WAN);

		uint16_t len = peer_open(&b_out, &g->sent[0], inner);

		expect_error(inner, len, rows[i].error, "10.1.0.1", "10.2.0.5", &about);
	}
	peer_free(&b_in);
	peer_free(&b_out);
	gateway_free(g);
}

// Between two tunnels, and too large for the second.
static void test_too_big_for_next_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){.cipher = "null", .auth = "hmac-sha1-96"});
	struct peer b_in = peer_new(g, "from-b"), b_out = peer_new(g, "to-b");
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.3.0.5", .len = 1438, .frag = DF);
	struct frame f = peer_seal_ip(&b_in, 1, ip), about;
	uint8_t inner[FRAME_MAX];
	uint16_t len;

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	ip.len = 1439;
	f = peer_seal_ip(&b_in, 2, ip);
	about = frame_ip(WAN, ip);
	gateway_expect_drop(g, &f, DROP_TOO_BIG);
	// None of the own addresses is in 10.3.0.0/24: B evaluates the quoted packet.
	expect_all_sent(g, 1, WAN);
	len = peer_open(&b_out, &g->sent[0], inner);
	expect_error(inner, len, (struct icmp_error){3, 4, 1438}, "10.1.0.1", "10.2.0.5", &about);
	ip.frag = 0;
	f = peer_seal_ip(&b_in, 3, ip);
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 2, WAN);
	peer_free(&b_in);
	peer_free(&b_out);
	gateway_free(g);
}

// The rate limit: that many a second, saved up for at most one second.
static void test_errors_have_a_rate(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){.errors_per_second = 10});

	(void)state;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1));
	for (unsigned int i = 0; i < 4; i++) {
		static const uint64_t pause[] = {500000, 100 * TSC_HZ, UINT64_MAX / 10 + 1, 99999};
		static const unsigned int n[] = {10, 5, 10, 10};

		gateway_pass(g, f, RX_BURST_MAX);
		expect_drops(g, DROP_TTL, RX_BURST_MAX);
		expect_all_sent(g, n[i], LAN);
		assert_int_equal(g->last.errors_suppressed, RX_BURST_MAX - n[i]);
		g->now += pause[i];
	}
	gateway_pass(g, f, 1);
	assert_int_equal(g->n_sent, 0);
	g->now++;
	gateway_pass(g, f, 2);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

// Errors caused by one peer do not reduce those for another, or for a port.
static void test_rate_of_peers(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){.errors_per_second = 10});
	struct peer b = peer_new(g, "from-b"), c = peer_new(g, "from-c");

	(void)state;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = peer_seal_ip(
			&b, i + 1, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .ttl = 1));
	gateway_pass(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_TTL, RX_BURST_MAX);
	expect_all_sent(g, 10, WAN);
	f[0] = peer_seal_ip(&c, 1, (struct ipv4)FROM_TO("10.3.0.5", "10.1.0.5", .ttl = 1));
	gateway_expect_drop(g, &f[0], DROP_TTL);
	expect_all_sent(g, 1, WAN);
	f[0] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1));
	gateway_expect_drop(g, &f[0], DROP_TTL);
	expect_all_sent(g, 1, LAN);
	peer_free(&b);
	peer_free(&c);
	gateway_free(g);
}

// RFC 6864 4.1: errors may be fragmented on their path, so no two in flight have the same
// identification.
static void test_identifications(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){.errors_per_second = 100});

	(void)state;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1));
	gateway_pass(g, f, RX_BURST_MAX);
	expect_all_sent(g, RX_BURST_MAX, LAN);
	for (unsigned int i = 0; i < g->n_sent; i++)
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(be16(frame_packet(&g->sent[i]) + 4),
				be16(frame_packet(&g->sent[k]) + 4));
	gateway_free(g);
}

// The bucket fills at the same rate if it is read all the time.
static void test_rate_in_small_steps(void **state)
{
	struct gateway *g = site_a((struct site){.errors_per_second = 7});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1));
	unsigned int sent = 0;

	(void)state;
	for (unsigned int i = 0; i < 10000; i++) {
		gateway_pass(g, &f, 1);
		sent += g->n_sent;
		g->now += 1000;
	}
	assert_in_range(sent, 76, 77); // 7 at once and 7 in each of 10 seconds
	gateway_free(g);
}

// A packet from inside with the source address of a host at the other end of a tunnel: the error
// belongs into the tunnel, not in clear to the outside.
static void test_not_in_clear(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "to-b");
	struct frame ping = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.1", .proto = 1, .icmp_type = 8));
	struct frame udp = frame_ip(LAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.1"));
	uint8_t inner[FRAME_MAX];

	(void)state;
	gateway_expect_sent(g, &ping, WAN);
	assert_int_equal(peer_open(&b, &g->sent[0], inner), 60);
	assert_int_equal(inner[IP_LEN], 0); // echo reply
	// The source of the error would be 192.0.2.1, for which there is no policy.
	gateway_pass(g, &udp, 1);
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(g->last.drops[DROP_LOCAL_UNSERVED], 1);
	assert_int_equal(g->last.drops[DROP_NO_POLICY], 1);
	peer_free(&b);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_time_exceeded),
		pipeline_test(test_ttl_0),
		pipeline_test(test_unreachable),
		pipeline_test(test_silence),
		pipeline_test(test_through_tunnel),
		pipeline_test(test_too_big_for_next_tunnel),
		pipeline_test(test_errors_have_a_rate),
		pipeline_test(test_rate_of_peers),
		pipeline_test(test_identifications),
		pipeline_test(test_rate_in_small_steps),
		pipeline_test(test_not_in_clear),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
