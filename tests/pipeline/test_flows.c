// SPDX-License-Identifier: BSD-3-Clause
// Flows through a gateway. Proves their limits, which packets are dropped, the effect of a change
// of configuration, and that no packet is accepted for a flow except on the path of the flow.
#include <netinet/in.h>

#include "flow_site.h"
#include "flow_table.h"
#include "peer.h"

// A UDP request to the outside and its reply, in clear.
static struct frame question(uint16_t port)
{
	return frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.51.100.9", .sport = port, .dport = 80));
}

static struct frame answer(uint16_t port)
{
	return frame_ip(
		WAN, (struct ipv4)FROM_TO("198.51.100.9", "10.1.0.5", .sport = 80, .dport = port));
}

// A request with time to live 1.
static struct frame hops_end(uint16_t port)
{
	struct frame f = question(port);

	f.b[ETH_LEN + 8] = 1;
	ip_checksum_update(f.b + ETH_LEN);
	return f;
}

#define ANSWERED 100
#define FLOOD    10240

static void test_flood(void **state)
{
	struct gateway *g = flow_gateway_new("max = 1024;");
	struct flow_counters c;
	uint64_t before;

	(void)state;
	for (uint16_t i = 0; i < ANSWERED; i++) {
		struct frame q = question(i), a = answer(i);

		gateway_expect_sent(g, &q, WAN);
		gateway_expect_sent(g, &a, LAN);
	}
	for (unsigned int i = 0; i < FLOOD; i += RX_BURST_MAX) {
		struct frame f[RX_BURST_MAX];

		for (unsigned int k = 0; k < RX_BURST_MAX; k++)
			f[k] = question((uint16_t)(1000 + i + k));
		g->now += TSC_HZ / 1000;
		gateway_pass(g, f, RX_BURST_MAX);
		// New flows are accepted while there are flows that may be evicted.
		expect_drops(g, DROP_NONE, 0);
		assert_in_range(flow_count(g->flows), ANSWERED, 1024 + 3 * RX_BURST_MAX);
	}
	flow_counters_sum(g->flows, &c);
	assert_int_equal(c.created, ANSWERED + FLOOD);
	assert_int_equal(c.created - c.evicted - c.expired, flow_count(g->flows));
	assert_true(c.evicted > FLOOD / 2);
	before = gateway_lookups(g);
	for (uint16_t i = 0; i < ANSWERED; i++) {
		struct frame q = question(i), a = answer(i);

		gateway_expect_sent(g, &q, WAN);
		gateway_expect_sent(g, &a, LAN);
	}
	assert_int_equal(gateway_lookups(g), before);
	gateway_free(g);
}

// A packet whose time to live expires here makes no flow, whether an ICMP error is sent about it or
// not; one of a flow without a reply does not change that flow.
static void test_time_exceeded(void **state)
{
	struct gateway *g = flow_gateway_new("");
	struct frame f[RX_BURST_MAX], q = question(1), a = answer(1);

	(void)state;
	for (unsigned int pass = 0; pass < 20; pass++) {
		for (uint16_t i = 0; i < RX_BURST_MAX; i++)
			f[i] = hops_end((uint16_t)(1000 + i));
		gateway_pass(g, f, RX_BURST_MAX);
		expect_drops(g, DROP_TTL, RX_BURST_MAX);
		assert_int_equal(g->last.originated + g->last.errors_suppressed, RX_BURST_MAX);
		assert_int_equal(flow_count(g->flows), 0);
	}
	assert_int_equal(g->last.errors_suppressed, RX_BURST_MAX);
	g->now += TSC_HZ;
	gateway_expect_sent(g, &q, WAN);
	a.b[ETH_LEN + 8] = 1;
	ip_checksum_update(a.b + ETH_LEN);
	gateway_expect_drop(g, &a, DROP_TTL);
	assert_int_equal(g->last.originated, 1);
	assert_false(flow_only(g).replied);
	gateway_free(g);
}

// Active flows are never evicted.
static void test_table_full(void **state)
{
	struct gateway *g = flow_gateway_new("max = 1024;");
	uint16_t n = 0;
	struct frame q, a, other;

	(void)state;
	for (;; n++) {
		assert_in_range(n, 0, 1024 + 3 * RX_BURST_MAX);
		q = question(n);
		a = answer(n);
		g->now += TSC_HZ / 1000;
		gateway_pass(g, &q, 1);
		if (g->n_sent == 0)
			break;
		gateway_expect_sent(g, &a, LAN);
	}
	expect_drops(g, DROP_FLOW_TABLE_FULL, 1);
	assert_true(n >= 1024);
	assert_int_equal(flow_count(g->flows), n);
	other = question(0);
	gateway_expect_sent(g, &other, WAN);
	gateway_free(g);
}

// Connection i of the host of site B, established. False if it was dropped.
static bool from_b(struct gateway *g, const struct peer *b, uint32_t i)
{
	struct frame in = peer_seal_ip(b, i + 1,
		(struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .sport = (uint16_t)i, .dport = 80));
	struct frame out = frame_ip(LAN,
		(struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .sport = 80, .dport = (uint16_t)i));

	g->now += TSC_HZ / 1000;
	gateway_pass(g, &in, 1);
	if (g->n_sent == 0)
		return false;
	gateway_expect_sent(g, &out, WAN);
	return true;
}

// 2080 connections of a vanished peer do not lock out others, whatever SAs it has meanwhile; one
// that is in use stays.
static void test_vanished_peer(void **state)
{
	struct gateway *g = flow_gateway_new("max = 2080;");
	struct peer b = peer_new(g, "from-b");
	uint32_t peer = gateway_policy(g, "b")->peer_hash;
	struct frame used = question(5000), a;
	uint32_t n = 0;
	uint64_t slow_path;

	(void)state;
	while (from_b(g, &b, n))
		n++;
	assert_true(n >= 2080);
	gateway_expect_sent(g, &used, WAN);
	a = answer(5000);
	gateway_expect_sent(g, &a, LAN);
	g->now += (uint64_t)TSC_HZ * (FLOW_ACTIVE_MS / 1000);
	gateway_expect_sent(g, &used, WAN);
	for (uint16_t i = 0; i < 1000; i++) {
		struct frame q = question(i);

		g->now += TSC_HZ / 1000;
		gateway_expect_sent(g, &q, WAN);
		a = answer(i);
		gateway_expect_sent(g, &a, LAN);
	}
	slow_path = gateway_lookups(g);
	for (uint16_t i = 0; i < 1000; i++) {
		struct frame q = question(i);

		gateway_expect_sent(g, &q, WAN);
	}
	gateway_expect_sent(g, &used, WAN);
	assert_int_equal(gateway_lookups(g), slow_path);
	flow_gateway_reload(g, "max = 2080;", (struct site){.cipher = "aes-256-gcm"});
	assert_int_equal(gateway_policy(g, "b")->peer_hash, peer);
	assert_int_not_equal(gateway_policy(g, "c")->peer_hash, peer);
	peer_free(&b);
	gateway_free(g);
}

static void test_source_limit(void **state)
{
	struct gateway *g = flow_gateway_new("max = 1024; per_source = 4;");
	struct frame q[5], a = answer(0),
			   other = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.6", "198.51.100.9",
							 .sport = 4, .dport = 80));

	(void)state;
	for (uint16_t i = 0; i < 5; i++)
		q[i] = question(i);
	gateway_pass(g, q, 5);
	expect_drops(g, DROP_FLOW_SOURCE_LIMIT, 1);
	expect_all_sent(g, 4, WAN);
	gateway_expect_drop(g, &q[4], DROP_FLOW_SOURCE_LIMIT);
	gateway_expect_sent(g, &q[0], WAN);
	gateway_expect_sent(g, &other, WAN);
	gateway_expect_sent(g, &a, LAN); // one less without a reply
	gateway_expect_sent(g, &q[4], WAN);
	gateway_free(g);
}

// Flows with equal hashes: each packet is one of its own flow, and takes the fast path.
static void test_equal_hashes(void **state)
{
	struct gateway *g = flow_gateway_new("");
	const struct flow_filter any = {0};
	uint32_t position = FLOW_LIST_START;
	struct flow_view v[4];
	struct frame f[12];
	unsigned int n = 0;
	struct ip_layout at;
	struct flow_pkt p;
	uint64_t before;

	(void)state;
	for (uint16_t i = 0; i < COUNT_OF(f); i++)
		f[i] = question((uint16_t)(1 + i % 3));
	assert_true(ip_layout_read(&at, f[0].b + ETH_LEN));
	assert_int_equal(flow_pkt_read(&p, f[0].b + ETH_LEN, &at), DROP_NONE);
	// The key makes a product of 0 of the two addresses, whatever the ports are.
	g->flows->hash_key.word[0] = -flow_brief_of(&p.key).addrs;
	gateway_pass(g, f, 3);
	before = gateway_lookups(g);
	gateway_pass(g, f, COUNT_OF(f));
	assert_int_equal(gateway_lookups(g), before);
	expect_drops(g, DROP_NONE, 0);
	while (position != FLOW_LIST_END)
		n += flow_list(g->flows, &any, 0, &position, v + n, COUNT_OF(v) - n);
	assert_int_equal(n, 3);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(v[i].packets[v[i].initiator], 1 + COUNT_OF(f) / 3);
	gateway_free(g);
}

// More incomplete datagrams at once than can be held: no entry of the library's table is missing,
// and no held one is so old that it expires.
static void test_fragments_full(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f[68];

	(void)state;
	for (uint16_t i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(
			LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 28,
				     .id = (uint16_t)(1 + i / 7), .frag = (uint16_t)(MF | i % 7)));
	gateway_pass(g, f, 64);
	expect_drops(g, DROP_NONE, 0);
	gateway_pass(g, f + 64, 4);
	expect_drops(g, DROP_FRAGMENTS_FULL, 7); // all of the oldest datagram
	assert_int_equal(worker_held(g->w), 68 - 7);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_flood),
		pipeline_test(test_time_exceeded),
		pipeline_test(test_table_full),
		pipeline_test(test_vanished_peer),
		pipeline_test(test_source_limit),
		pipeline_test(test_equal_hashes),
		pipeline_test(test_fragments_full),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
