// SPDX-License-Identifier: BSD-3-Clause
// The IPsec boundary (RFC 4301 5) for packets in clear, from both sides.
#include <netinet/in.h>

#include "peer.h"
#include "site.h"

enum fate { CLEAR, TO_B, TO_C };

struct row {
	const char *name;
	struct ipv4 ip;
	enum drop drop;
	enum fate fate; // if not dropped
	uint16_t port;  // egress port
};

// In clear it is the same but for the time to live; else the peer opens it.
static void check_sent(
	struct gateway *g, const struct frame *in, const struct row *row, const struct peer peers[])
{
	struct frame right = frame_after_hops(in, 1);
	uint8_t inner[FRAME_MAX];
	const uint8_t *packet = frame_packet(&g->sent[0]);
	uint16_t len = frame_packet_len(&g->sent[0]);

	expect_all_sent(g, 1, row->port);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(row->port), 6);
	assert_memory_equal(g->sent[0].b + 6, mac_of_port(row->port), 6);
	assert_int_equal(be16(g->sent[0].b + 12), 0x0800);
	if (row->fate != CLEAR) {
		len = peer_open(&peers[row->fate], &g->sent[0], inner);
		packet = inner;
	}
	assert_int_equal(len, frame_packet_len(in));
	assert_memory_equal(packet, frame_packet(&right), len);
}

static void check_rows(uint16_t port, const struct row rows[], size_t n)
{
	struct gateway *g = site_a((struct site){0});
	struct peer peers[] = {[TO_B] = peer_new(g, "to-b"), [TO_C] = peer_new(g, "to-c")};

	for (size_t i = 0; i < n; i++) {
		struct frame f = frame_ip(port, rows[i].ip);

		print_message("%s\n", rows[i].name);
		gateway_pass(g, &f, 1);
		expect_drops(g, rows[i].drop, rows[i].drop != DROP_NONE ? 1 : 0);
		if (rows[i].drop == DROP_NONE)
			check_sent(g, &f, &rows[i], peers);
	}
	peer_free(&peers[TO_B]);
	peer_free(&peers[TO_C]);
	gateway_free(g);
}

static void test_from_inside(void **state)
{
	static const struct row rows[] = {
		{"to B", FROM_TO("10.1.0.5", "10.2.0.5"), .fate = TO_B, .port = WAN},
		{"to B, TCP", FROM_TO("10.1.0.5", "10.2.0.5", .proto = 6), .fate = TO_B,
			.port = WAN},
		{"to B, ESP", FROM_TO("10.1.0.5", "10.2.0.5", .proto = 50), .fate = TO_B,
			.port = WAN},
		{"to B, smallest", FROM_TO("10.1.0.5", "10.2.0.5", .proto = 253, .len = 20),
			.fate = TO_B, .port = WAN},
		{"to B, options", FROM_TO("10.1.0.5", "10.2.0.5", .options = 40, .len = 100),
			.fate = TO_B, .port = WAN},
		{"to B's own gateway", FROM_TO("10.1.0.5", "10.2.0.1"), .fate = TO_B, .port = WAN},
		{"to B, from elsewhere", FROM_TO("10.9.0.5", "10.2.0.5"), .drop = DROP_NO_POLICY},
		{"to C", FROM_TO("10.1.0.5", "10.3.0.5"), .fate = TO_C, .port = WAN},
		{"port below", FROM_TO("10.1.0.5", "10.4.0.9", .dport = 4999),
			.drop = DROP_NO_POLICY},
		{"first port", FROM_TO("10.1.0.5", "10.4.0.9", .dport = 5000), .fate = TO_B,
			.port = WAN},
		{"last port", FROM_TO("10.1.0.5", "10.4.0.9", .dport = 5010), .fate = TO_B,
			.port = WAN},
		{"port above", FROM_TO("10.1.0.5", "10.4.0.9", .dport = 5011),
			.drop = DROP_NO_POLICY},
		{"port of the wrong side",
			FROM_TO("10.1.0.5", "10.4.0.9", .sport = 5000, .dport = 1),
			.drop = DROP_NO_POLICY},
		{"port of another protocol",
			FROM_TO("10.1.0.5", "10.4.0.9", .proto = 6, .dport = 5000),
			.drop = DROP_NO_POLICY},
		{"no room for ports", FROM_TO("10.1.0.5", "10.4.0.9", .len = 23),
			.drop = DROP_CT_INVALID},
		{"bypass", FROM_TO("10.1.0.5", "198.51.100.9", .dport = 80), .fate = CLEAR,
			.port = WAN},
		{"bypass inside", FROM_TO("10.1.0.5", "10.7.0.5"), .fate = CLEAR, .port = DMZ},
		{"discard before bypass", FROM_TO("10.1.0.5", "198.51.100.9", .dport = 7),
			.drop = DROP_POLICY_DISCARD},
		{"other protocol", FROM_TO("10.1.0.5", "198.51.100.9", .proto = 6, .dport = 7),
			.fate = CLEAR, .port = WAN},
		{"discard", FROM_TO("10.1.0.5", "203.0.113.9"), .drop = DROP_POLICY_DISCARD},
		{"no policy", FROM_TO("10.1.0.5", "192.88.99.9"), .drop = DROP_NO_POLICY},
		{"no route", FROM_TO("10.1.0.5", "198.18.0.9"), .drop = DROP_NO_ROUTE},
	};

	(void)state;
	check_rows(LAN, rows, COUNT_OF(rows));
}

static void test_from_outside(void **state)
{
	static const struct row rows[] = {
		{"B's network in clear", FROM_TO("10.2.0.5", "10.1.0.5"), .drop = DROP_CLEAR_TEXT},
		{"C's network in clear", FROM_TO("10.3.0.5", "10.1.0.5"), .drop = DROP_CLEAR_TEXT},
		{"to the gateway itself", FROM_TO("10.2.0.5", "10.1.0.1"), .drop = DROP_CLEAR_TEXT},
		{"from B's to C's", FROM_TO("10.2.0.5", "10.3.0.5"), .drop = DROP_CLEAR_TEXT},
		{"protected port", FROM_TO("10.4.0.9", "10.1.0.5", .sport = 5005),
			.drop = DROP_CLEAR_TEXT},
		{"another port", FROM_TO("10.4.0.9", "10.1.0.5", .sport = 4999),
			.drop = DROP_NO_POLICY},
		{"port of the wrong side", FROM_TO("10.4.0.9", "10.1.0.5", .dport = 5005),
			.drop = DROP_NO_POLICY},
		{"bypass", FROM_TO("198.51.100.9", "10.1.0.5", .sport = 80), .fate = CLEAR,
			.port = LAN},
		{"discard before bypass", FROM_TO("198.51.100.9", "10.1.0.5", .sport = 7),
			.drop = DROP_POLICY_DISCARD},
		{"discard", FROM_TO("203.0.113.9", "10.1.0.5"), .drop = DROP_POLICY_DISCARD},
		{"no policy", FROM_TO("192.88.99.9", "10.1.0.5"), .drop = DROP_NO_POLICY},
		{"between the others' gateways", FROM_TO("192.0.2.2", "192.0.2.3", .proto = 50),
			.drop = DROP_NO_POLICY},
	};

	(void)state;
	check_rows(WAN, rows, COUNT_OF(rows));
}

// Every policy counts the packets that it matched, for each worker.
static void test_policies_count_by_worker(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame in[] = {
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5")),
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "203.0.113.9")),
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.6")),
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "192.88.99.9")),
		frame_ip(WAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5")),
	};

	(void)state;
	gateway_pass(g, in, COUNT_OF(in));
	assert_int_equal(gateway_policy_decided(g, "b").asked, 3);
	assert_int_equal(gateway_policy_decided(g, "bad").asked, 1);
	assert_int_equal(gateway_lookups(g), 4);
	assert_int_equal(running_lookups(g->snapshot, 1), 0); // by another worker
	assert_int_equal(gateway_sa_counted(g, "to-b")->packets, 2);
	assert_int_equal(gateway_sa_counted(g, "to-b")->bytes, 120);
	gateway_free(g);
}

// A policy with lists is one: it has one counter, whichever of its values match, and they alone do.
static void test_lists(void **state)
{
	static const char policies[] =
		", { name = \"many\"; local = [ \"10.1.0.0/25\", \"10.1.0.128/26\" ]; proto = [ "
		"\"udp\", \"tcp\" ];"
		"    remote = [ \"@branches\", \"10.9.2.0/24\" ]; remote_port = [ \"53\", "
		"\"1000-1009\" ];"
		"    action = \"protect\"; out = \"to-b\"; in = \"from-b\"; }";
	static const char aliases[] = "aliases = ( { name = \"branches\"; prefixes = [ "
				      "\"10.9.0.0/24\", \"10.9.1.0/24\" ]; } );\n";
	static const struct {
		struct ipv4 ip;
		enum drop drop;
	} rows[] = {
		{FROM_TO("10.1.0.5", "10.9.0.5", .dport = 53), DROP_NONE},
		{FROM_TO("10.1.0.130", "10.9.1.5", .dport = 1004), DROP_NONE},
		{FROM_TO("10.1.0.5", "10.9.2.5", .proto = IPPROTO_TCP, .dport = 53), DROP_NONE},
		{FROM_TO("10.1.0.200", "10.9.0.5", .dport = 53), DROP_NO_POLICY},
		{FROM_TO("10.1.0.5", "10.9.3.5", .dport = 53), DROP_NO_POLICY},
		{FROM_TO("10.1.0.5", "10.9.0.5", .dport = 54), DROP_NO_POLICY},
		{FROM_TO("10.1.0.5", "10.9.0.5", .proto = 132, .dport = 53), DROP_NO_POLICY},
	};
	struct gateway *g = site_a((struct site){.policies = policies, .more = aliases});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = frame_ip(LAN, rows[i].ip);

		if (rows[i].drop != DROP_NONE)
			gateway_expect_drop(g, &f, rows[i].drop);
		else
			gateway_expect_sent(g, &f, WAN);
	}

	struct frame in = frame_ip(WAN, (struct ipv4)FROM_TO("10.9.2.5", "10.1.0.5", .sport = 53));

	gateway_expect_drop(g, &in, DROP_CLEAR_TEXT);
	assert_int_equal(gateway_policy_decided(g, "many").asked, 4);
	assert_int_equal(gateway_sa_counted(g, "to-b")->packets, 3);
	gateway_free(g);
}

// Types and codes of ICMP are matched, also for packets of an existing flow; errors about packets
// that a policy protects follow that policy.
static void test_icmp(void **state)
{
	static const char policies[] =
		", { name = \"ping\"; proto = \"icmp\"; local_icmp = \"8/0\"; remote_icmp = "
		"\"0/0\";"
		"    local = \"10.1.0.0/24\"; remote = \"192.0.2.0/24\"; action = \"bypass\"; }";
	static const struct {
		const char *name, *src, *dst;
		uint16_t port;
		uint8_t type, code;
		enum drop drop;
	} rows[] = {
		{"in first", "192.0.2.9", "10.1.0.5", WAN, 8, 0, DROP_NO_POLICY},
		{"out", "10.1.0.5", "192.0.2.254", LAN, 8, 0, DROP_NONE},
		{"reply", "192.0.2.254", "10.1.0.5", WAN, 0, 0, DROP_NONE},
		{"another code of the flow", "10.1.0.5", "192.0.2.254", LAN, 8, 1, DROP_NO_POLICY},
		{"another type", "10.1.0.5", "192.0.2.254", LAN, 13, 0, DROP_NO_POLICY},
		{"request of the other end", "192.0.2.254", "10.1.0.5", WAN, 8, 0, DROP_NO_POLICY},
		{"out again", "10.1.0.5", "192.0.2.254", LAN, 8, 0, DROP_NONE},
	};
	struct gateway *g = site_a((struct site){.policies = policies});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = frame_ip(rows[i].port, (struct ipv4){.src = rows[i].src,
								.dst = rows[i].dst,
								.proto = IPPROTO_ICMP,
								.icmp_type = rows[i].type,
								.icmp_code = rows[i].code});

		put16(f.b + ETH_LEN + IP_LEN + 4, 7); // one identifier: one flow
		print_message("%s\n", rows[i].name);
		if (rows[i].drop != DROP_NONE)
			gateway_expect_drop(g, &f, rows[i].drop);
		else
			gateway_expect_sent(g, &f, rows[i].port == LAN ? WAN : LAN);
	}
	gateway_free(g);
}

// The direction of the same packet in clear, by the side of its port: inbound, its destination is
// local, or outbound, its source is.
static void test_sides(void **state)
{
	static const char form[] =
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ "
		"\"10.1.0.1/24\" ]; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; side = \"%s\"; addresses = [ "
		"\"192.0.2.1/24\" ]; } );\n"
		"neighbours = ( { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; } );\n"
		"policies = ( { name = \"in\"; local = \"10.1.0.0/24\"; action = \"bypass\"; } "
		");\n";
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.9", "10.1.0.5"));
	struct gateway *g;
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text), form, "unprotected");
	g = gateway_new(0, text);
	gateway_expect_sent(g, &f, LAN);
	gateway_free(g);
	snprintf(text, sizeof(text), form, "protected");
	g = gateway_new(0, text);
	gateway_expect_drop(g, &f, DROP_NO_POLICY);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_from_inside),
		pipeline_test(test_from_outside),
		pipeline_test(test_policies_count_by_worker),
		pipeline_test(test_lists),
		pipeline_test(test_icmp),
		pipeline_test(test_sides),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
