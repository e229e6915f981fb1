// SPDX-License-Identifier: BSD-3-Clause
// Packets for the gateway's own addresses: pings from all sides. Proves which are answered, and the
// path of the replies.
#include <netinet/in.h>

#include "peer.h"
#include "site.h"

static struct ipv4 ping(const char *src, const char *dst)
{
	return (struct ipv4)FROM_TO(src, dst, .proto = IPPROTO_ICMP, .icmp_type = 8);
}

// The reply to a request: addresses swapped, type 0, the same data.
static void expect_reply(const uint8_t *packet, uint16_t len, struct ipv4 request)
{
	uint8_t expected[FRAME_MAX];

	assert_int_equal(len, ip_write(expected, request));
	assert_int_equal(packet[0], expected[0]);
	assert_int_equal(be16(packet + 2), len);
	assert_int_equal(packet[8], 64);
	assert_int_equal(checksum(packet, (packet[0] & 15) * 4u), 0);
	assert_memory_equal(packet + 12, expected + 16, 4);
	assert_memory_equal(packet + 16, expected + 12, 4);
	assert_int_equal(be16(packet + IP_LEN), 0);
	assert_int_equal(checksum(packet + IP_LEN, len - IP_LEN), 0);
	assert_memory_equal(packet + IP_LEN + 4, expected + IP_LEN + 4, len - IP_LEN - 4u);
}

static void test_in_clear(void **state)
{
	static const struct {
		uint16_t port;
		const char *src, *dst;
		uint8_t ttl;
	} rows[] = {
		{LAN, "10.1.0.5", "10.1.0.1", 64},
		{LAN, "10.1.0.5", "192.0.2.1", 64}, // an address of another port
		{LAN, "10.1.0.5", "10.7.0.1", 64}, {LAN, "10.1.0.5", "10.1.0.1", 1},
		{DMZ, "10.7.0.5", "10.7.0.1", 64}, {WAN, "192.0.2.2", "192.0.2.1", 64},
		{WAN, "192.0.2.2", "192.0.2.1", 1},
		{WAN, "198.51.100.9", "192.0.2.1", 64}, // from the router
	};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ipv4 ip = ping(rows[i].src, rows[i].dst);

		ip.ttl = rows[i].ttl;

		struct frame f = frame_ip(rows[i].port, ip);

		gateway_expect_sent(g, &f, rows[i].port);
		assert_int_equal(g->last.local, 1);
		assert_int_equal(g->last.originated, 1);
		expect_reply(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), ip);
	}
	gateway_free(g);
}

static void test_sizes(void **state)
{
	struct gateway *g = site_a((struct site){.icmp = "echo_replies_per_second = 2000;"});
	struct ipv4 ip = ping("10.1.0.5", "10.1.0.1");

	(void)state;
	for (ip.len = 28; ip.len <= 1500; ip.len++) {
		struct frame f = frame_ip(LAN, ip);

		gateway_expect_sent(g, &f, LAN);
		expect_reply(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), ip);
	}
	gateway_free(g);
}

// The reply is sent through the tunnel of the request.
static void test_through_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer in = peer_new(g, "from-b"), out = peer_new(g, "to-b");
	struct ipv4 ip = ping("10.2.0.5", "10.1.0.1");
	uint32_t seq = 0;

	(void)state;
	for (ip.len = 28; ip.len <= 1446; ip.len = (uint16_t)(ip.len + 709)) {
		struct frame f = peer_seal_ip(&in, ++seq, ip);
		uint8_t inner[FRAME_MAX];

		gateway_expect_sent(g, &f, WAN);
		expect_reply(inner, peer_open(&out, &g->sent[0], inner), ip);
	}
	// C's tunnel does not carry traffic of B's.
	ip.len = 60;

	struct peer c = peer_new(g, "from-c");
	struct frame f = peer_seal_ip(&c, 1, ip);

	gateway_expect_drop(g, &f, DROP_SELECTOR);
	peer_free(&c);
	peer_free(&in);
	peer_free(&out);
	gateway_free(g);
}

static void test_not_answered(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = ping("10.1.0.5", "10.1.0.1");
	struct frame f = frame_ip(LAN, ip);

	(void)state;
	f.b[ETH_LEN + IP_LEN + 30] ^= 1; // checksum
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	ip.icmp_code = 1;
	f = frame_ip(LAN, ip);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	ip = ping("10.1.0.5", "10.1.0.1");
	ip.len = 27;
	f = frame_ip(LAN, ip);
	f.b[ETH_LEN + IP_LEN] = 8;
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	ip = ping("10.1.0.5", "10.1.0.1");
	ip.icmp_type = 13; // timestamp
	f = frame_ip(LAN, ip);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	assert_int_equal(g->n_sent, 0);
	f = frame_ip(WAN, ping("10.2.0.5", "10.1.0.1")); // belongs into the tunnel
	gateway_expect_drop(g, &f, DROP_CLEAR_TEXT);
	f = frame_ip(LAN, ping("10.1.0.1", "10.1.0.1")); // source address of the gateway
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

// RFC 7126 4.3, 4.4: packets with source routes are neither forwarded, in clear, into a tunnel or
// out of one, nor answered. The same is true of malformed options (RFC 791 3.1).
static void test_options(void **state)
{
	static const struct {
		const char *name, *dst;
		uint8_t options[12];
		enum { PASSES, ROUTED, MALFORMED } fate;
	} rows[] = {
		{"loose, local", "10.1.0.1", {131, 7, 4, 10, 1, 0, 9}, ROUTED},
		{"loose, through", "10.2.0.5", {131, 7, 4, 10, 1, 0, 9}, ROUTED},
		{"loose, at its end", "10.2.0.5", {131, 7, 8, 10, 1, 0, 9}, ROUTED},
		{"strict, in clear", "198.51.100.9", {137, 7, 4, 10, 1, 0, 9}, ROUTED},
		{"behind others", "10.2.0.5", {1, 7, 3, 4, 131, 7, 4, 10, 1, 0, 9}, ROUTED},
		{"behind the end", "10.2.0.5", {1, 0, 131, 7, 4}, PASSES},
		{"in another's data", "10.2.0.5", {7, 7, 4, 131, 0, 0, 137}, PASSES},
		{"unknown", "10.2.0.5", {30, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, PASSES},
		{"length 1", "10.2.0.5", {7, 1, 131, 3, 4}, MALFORMED},
		{"length 0, local", "10.1.0.1", {148, 0, 0, 0}, MALFORMED},
		{"length beyond the header", "10.2.0.5", {1, 7, 12, 4}, MALFORMED},
		{"length 255, in clear", "198.51.100.9", {30, 255}, MALFORMED},
		{"truncated", "10.2.0.5", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7}, MALFORMED},
	};
	static const enum drop clear[] = {
		[ROUTED] = DROP_SOURCE_ROUTED, [MALFORMED] = DROP_IP_HEADER};
	static const enum drop inner[] = {
		[ROUTED] = DROP_SOURCE_ROUTED, [MALFORMED] = DROP_INNER_HEADER};
	struct gateway *g = site_a((struct site){0});
	struct peer in = peer_new(g, "from-b");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ipv4 ip = ping("10.1.0.5", rows[i].dst);
		uint8_t packet[FRAME_MAX];
		struct frame f;
		uint16_t len;

		print_message("%s\n", rows[i].name);
		ip.options = sizeof(rows[i].options);
		f = frame_ip(LAN, ip);
		memcpy(f.b + ETH_LEN + IP_LEN, rows[i].options, sizeof(rows[i].options));
		ip_checksum_update(f.b + ETH_LEN);
		if (rows[i].fate == PASSES) {
			gateway_expect_sent(g, &f, WAN);
		} else {
			gateway_expect_drop(g, &f, clear[rows[i].fate]);
			put16(f.b + ETH_LEN + 6, MF);
			ip_checksum_update(f.b + ETH_LEN);
			gateway_expect_drop(g, &f, clear[rows[i].fate]);
			assert_int_equal(g->n_sent, 0);
		}
		ip.src = "10.2.0.5";
		ip.dst = "10.1.0.5";
		len = ip_write(packet, ip);
		memcpy(packet + IP_LEN, rows[i].options, sizeof(rows[i].options));
		ip_checksum_update(packet);
		f = peer_seal_packet(&in, i + 1, packet, len);
		if (rows[i].fate == PASSES)
			gateway_expect_sent(g, &f, LAN);
		else
			gateway_expect_drop(g, &f, inner[rows[i].fate]);
	}
	peer_free(&in);
	gateway_free(g);
}

// A packet out of a tunnel with an invalid source address is dropped, whatever its policy covers.
static void test_forged_inside(void **state)
{
	static const char all[] =
		", { name = \"all\"; action = \"protect\"; out = \"to-b\"; in = \"from-b\"; }";
	static const char *const forged[] = {"10.1.0.77", "10.1.0.1", "192.0.2.1"};
	struct gateway *g = site_a((struct site){.policies = all});
	struct peer in = peer_new(g, "from-b");
	struct frame f;
	uint32_t seq = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(forged); i++) {
		f = peer_seal_ip(&in, ++seq, (struct ipv4)FROM_TO(forged[i], "10.1.0.5"));
		gateway_expect_drop(g, &f, DROP_IP_SOURCE);
		f = peer_seal_ip(&in, ++seq, ping(forged[i], "10.1.0.1"));
		gateway_expect_drop(g, &f, DROP_IP_SOURCE);
		assert_int_equal(g->n_sent, 0);
	}
	f = peer_seal_ip(&in, ++seq, (struct ipv4)FROM_TO("192.88.99.9", "10.1.0.5"));
	gateway_expect_sent(g, &f, LAN);
	f = peer_seal_ip(&in, ++seq, (struct ipv4)FROM_TO("192.0.2.9", "10.1.0.5"));
	gateway_expect_sent(g, &f, LAN);
	peer_free(&in);
	gateway_free(g);

	// With such a policy, a part of the local network is at the other end of the tunnel.
	g = site_a((struct site){.policies = ", { name = \"part\"; local = \"10.1.0.0/25\";"
					     "    remote = \"10.1.0.128/25\"; action = \"protect\";"
					     "    out = \"to-b\"; in = \"from-b\"; }"});
	in = peer_new(g, "from-b");
	f = peer_seal_ip(&in, 1, (struct ipv4)FROM_TO("10.1.0.200", "10.1.0.5"));
	gateway_expect_sent(g, &f, LAN);
	peer_free(&in);
	gateway_free(g);
}

// A policy that covers the gateway's own outside address requires that pings of it are protected,
// unless one before it lets them bypass.
static void test_protected_address(void **state)
{
	static const char all[] =
		", { name = \"all\"; action = \"protect\"; out = \"to-b\"; in = \"from-b\"; }";
	static const char pings_and_all[] =
		", { name = \"ping\"; local = \"192.0.2.1/32\"; proto = \"icmp\";"
		"    action = \"bypass\"; }"
		", { name = \"all\"; action = \"protect\"; out = \"to-b\"; in = \"from-b\"; }";
	struct ipv4 ip = ping("198.51.100.9", "192.0.2.1");
	struct gateway *g = site_a((struct site){.policies = all});
	struct peer in = peer_new(g, "from-b"), out = peer_new(g, "to-b");
	struct frame f = frame_ip(WAN, ip);
	uint8_t inner[FRAME_MAX];

	(void)state;
	gateway_expect_drop(g, &f, DROP_CLEAR_TEXT);
	assert_int_equal(g->n_sent, 0);
	f = peer_seal_ip(&in, 1, ip);
	gateway_expect_sent(g, &f, WAN);
	expect_reply(inner, peer_open(&out, &g->sent[0], inner), ip);
	peer_free(&in);
	peer_free(&out);
	gateway_free(g);

	g = site_a((struct site){.policies = pings_and_all});
	f = frame_ip(WAN, ip);
	gateway_expect_sent(g, &f, WAN);
	expect_reply(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), ip);
	gateway_free(g);
}

// A frame from a station that is no neighbour yet.
static struct frame from_unknown_station(uint16_t port, struct ipv4 ip)
{
	struct frame f = frame_ip(port, ip);

	f.b[6 + 5] ^= 0x55;
	return f;
}

static void expect_straight_back(struct gateway *g, const struct frame *in)
{
	gateway_pass(g, in, 1);
	assert_int_equal(g->n_sent, 1);
	assert_int_equal(g->sent[0].port, in->port);
	assert_memory_equal(g->sent[0].b, in->b + 6, 6);
	assert_memory_equal(g->sent[0].b + 6, mac_of_port(in->port), 6);
	assert_int_equal(worker_held(g->w), 0);
	expect_no_event(g);
}

// Replies and errors are sent to the station that sent the frame, host or router: its link address
// is neither resolved nor learnt.
static void test_straight_back(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = from_unknown_station(LAN, ping("10.1.0.77", "10.1.0.1"));

	(void)state;
	expect_straight_back(g, &f);
	expect_drops(g, DROP_NONE, 0);
	f = from_unknown_station(LAN, (struct ipv4)FROM_TO("10.1.0.77", "10.7.0.5", .ttl = 1));
	expect_straight_back(g, &f);
	expect_drops(g, DROP_TTL, 1);
	f = from_unknown_station(LAN, (struct ipv4)FROM_TO("10.1.0.77", "10.1.0.1"));
	expect_straight_back(g, &f);
	expect_drops(g, DROP_LOCAL_UNSERVED, 1);
	f = from_unknown_station(
		WAN, ping("198.51.100.9", "192.0.2.1")); // another router than the configured one
	expect_straight_back(g, &f);
	expect_drops(g, DROP_NONE, 0);
	gateway_free(g);
}

// By another port than the request's, or larger than the link's MTU: as any originated packet.
static void test_not_straight_back(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = from_unknown_station(LAN, ping("10.7.0.77", "10.1.0.1"));

	(void)state;
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(worker_held(g->w), 1);
	expect_event(g, EVENT_NEIGH_NEEDED, DMZ, "10.7.0.77");
	f = from_unknown_station(LAN, ping("10.1.0.5", "10.1.0.1"));
	f.b[6] |= 1; // not a station
	gateway_expect_sent(g, &f, LAN);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(LAN), 6);
	gateway_free(g);
}

static void check_limit(struct gateway *g, const struct frame *f, unsigned int replies)
{
	for (unsigned int i = 0; i < replies; i++)
		gateway_expect_sent(g, f, f->port);
	gateway_expect_drop(g, f, DROP_ECHO_LIMIT);
	assert_int_equal(g->n_sent, 0);
}

// While a rate limit is used up, policy is not looked up: no flood can cause that work.
static void test_limit_before_policy(void **state)
{
	struct gateway *g = site_a(
		(struct site){.errors_per_second = 1, .icmp = "echo_replies_per_second = 1;"});
	struct peer in = peer_new(g, "from-b");
	struct ipv4 closed = FROM_TO("10.2.0.5", "10.1.0.1", .dport = 9);
	struct ipv4 foreign = FROM_TO("10.9.0.5", "10.1.0.1", .dport = 9);
	struct frame f = peer_seal_ip(&in, 1, ping("10.9.0.5", "10.1.0.1"));

	(void)state;
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	f = peer_seal_ip(&in, 2, ping("10.2.0.5", "10.1.0.1"));
	gateway_expect_sent(g, &f, WAN);
	f = peer_seal_ip(&in, 3, ping("10.9.0.5", "10.1.0.1"));
	gateway_expect_drop(g, &f, DROP_ECHO_LIMIT);
	f = peer_seal_ip(&in, 4, foreign);
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	f = peer_seal_ip(&in, 5, closed);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	assert_int_equal(g->n_sent, 1); // port unreachable
	f = peer_seal_ip(&in, 6, foreign);
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	assert_int_equal(g->n_sent, 0);
	peer_free(&in);
	gateway_free(g);

	g = site_a((struct site){.icmp = "echo_replies_per_second = 0;"}); // not by rate
	in = peer_new(g, "from-b");
	f = peer_seal_ip(&in, 1, ping("10.9.0.5", "10.1.0.1"));
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	peer_free(&in);
	gateway_free(g);
}

// Each port and each SA has its own limit of replies.
static void test_ports_and_sas_have_own_limits(void **state)
{
	struct gateway *g = site_a((struct site){.icmp = "echo_replies_per_second = 10;"});
	struct frame lan = frame_ip(LAN, ping("10.1.0.5", "10.1.0.1"));
	struct frame wan = frame_ip(WAN, ping("192.0.2.2", "192.0.2.1"));
	struct peer in = peer_new(g, "from-b");
	struct frame f;

	(void)state;
	check_limit(g, &lan, 10);
	check_limit(g, &wan, 10);
	for (uint32_t seq = 1; seq <= 11; seq++) {
		f = peer_seal_ip(&in, seq, ping("10.2.0.5", "10.1.0.1"));
		if (seq <= 10)
			gateway_expect_sent(g, &f, WAN);
	}
	gateway_expect_drop(g, &f, DROP_ECHO_LIMIT);
	g->now += TSC_HZ / 2;
	check_limit(g, &lan, 5);
	peer_free(&in);
	gateway_free(g);

	g = site_a((struct site){.icmp = "echo_replies_per_second = 0;"});
	check_limit(g, &lan, 0);
	gateway_free(g);
}

// Unreachable hosts cause as many errors as a pass has room for, and a burst of pings is still
// answered.
static void test_pings_among_errors(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = site_a((struct site){.hold = 300, .errors_per_second = 100000});
	char dst[10][IP_ADDR_STRLEN];

	(void)state;
	for (unsigned int host = 0; host < 10; host++) { // 30 packets are held for each
		snprintf(dst[host], sizeof(dst[host]), "10.7.0.%u", 100 + host);
		for (unsigned int i = 0; i < 30; i++)
			f[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst[host]));
		gateway_pass(g, f, 30);
		expect_drops(g, DROP_NONE, 0);
	}
	assert_int_equal(worker_held(g->w), 300);
	g->now += 60 * TSC_HZ;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		f[i] = frame_ip(LAN, ping("10.1.0.5", "10.1.0.1"));
	gateway_pass(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_NEIGH_FAILED, 300);
	assert_int_equal(g->last.local, RX_BURST_MAX);
	expect_all_sent(g, (unsigned int)g->last.originated, LAN);
	assert_in_range(g->n_sent, RX_BURST_MAX + 100, BURST_MAX);
	gateway_free(g);
}

// The replies to pings of the gateway's own are no drops, but only out of a tunnel: it sends no
// other pings.
static void test_echo_reply(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer in = peer_new(g, "from-b");
	struct ipv4 reply = ping("10.2.0.1", "10.1.0.1");

	(void)state;
	reply.icmp_type = 0;

	struct frame sealed = peer_seal_ip(&in, 1, reply);
	struct frame clear =
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .proto = IPPROTO_ICMP));

	gateway_pass(g, &sealed, 1);
	assert_int_equal(g->last.local, 1);
	assert_int_equal(g->last.originated, 0);
	gateway_expect_drop(g, &clear, DROP_LOCAL_UNSERVED);
	peer_free(&in);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_in_clear),
		pipeline_test(test_echo_reply),
		pipeline_test(test_sizes),
		pipeline_test(test_through_tunnel),
		pipeline_test(test_not_answered),
		pipeline_test(test_options),
		pipeline_test(test_forged_inside),
		pipeline_test(test_protected_address),
		pipeline_test(test_pings_among_errors),
		pipeline_test(test_straight_back),
		pipeline_test(test_not_straight_back),
		pipeline_test(test_ports_and_sas_have_own_limits),
		pipeline_test(test_limit_before_policy),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
