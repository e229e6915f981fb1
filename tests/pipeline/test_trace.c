// SPDX-License-Identifier: BSD-3-Clause
// Traces. Proves their steps, which packets are traced, and that none is when tracing is off.
// CULVERT_TEST_TRACED makes all other tests prove that tracing changes no result.
#include <netinet/in.h>

#include "addrs.h"
#include "expected_group.h"
#include "peer.h"
#include "site.h"
#include "steps.h"

static const struct ipv4 outward = {.src = "10.1.0.5", .dst = "10.2.0.5", .dport = 53};

static uint32_t addr4(const struct ip_addr *a)
{
	return rte_be_to_cpu_32(ip_addr_v4(a));
}

// The first packet of a flow and the second, out and in.
static void test_paths(void **state)
{
	struct gateway *a = site_a((struct site){0}), *b = site_b((struct site){0});
	struct frame f = frame_ip(LAN, outward), wire[2];
	const struct trace_step *s;

	(void)state;
	gateway_trace(a, NULL, 2);
	gateway_trace(b, NULL, 2);
	for (unsigned int i = 0; i < 2; i++) {
		wire[i] = frame_carry(gateway_expect_sent(a, &f, WAN));
		gateway_expect_sent(b, &wire[i], LAN);
	}
	EXPECT_STEPS(a, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_PROTECT, TRACE_RULE_ACCEPT,
		TRACE_SEALED, TRACE_SENT);
	EXPECT_STEPS(a, 2, TRACE_INPUT, TRACE_FLOW_KNOWN, TRACE_POLICY_PROTECT, TRACE_SEALED,
		TRACE_SENT);
	EXPECT_STEPS(b, 1, TRACE_INPUT, TRACE_SA_FOUND, TRACE_OPENED, TRACE_FLOW_NONE,
		TRACE_POLICY_PROTECT, TRACE_RULE_ACCEPT, TRACE_FORWARD, TRACE_SENT);
	EXPECT_STEPS(b, 2, TRACE_INPUT, TRACE_SA_FOUND, TRACE_OPENED, TRACE_FLOW_KNOWN,
		TRACE_POLICY_PROTECT, TRACE_FORWARD, TRACE_SENT);
	assert_true(trace_done(a->trace) && trace_done(b->trace));
	assert_int_equal(trace_lost(a->trace), 0);

	s = find_step(a, TRACE_INPUT);
	assert_int_equal(s->port, LAN);
	assert_int_equal(s->len, f.len);
	assert_int_equal(addr4(&s->header.src), ip_number("10.1.0.5"));
	assert_int_equal(rte_be_to_cpu_16(s->header.dst_port), 53);
	s = find_step(a, TRACE_SEALED);
	assert_string_equal(s->name, "to-b");
	assert_int_equal(s->before, frame_packet_len(&f));
	assert_int_equal(s->len, frame_packet_len(&wire[0]));
	assert_int_equal(s->seq, 1);
	assert_int_equal(rte_be_to_cpu_32(s->header.spi), be32(frame_packet(&wire[0]) + IP_LEN));
	assert_int_equal(addr4(&s->header.dst), ip_number("192.0.2.2"));
	s = find_step(a, TRACE_SENT);
	assert_int_equal(s->port, WAN);
	assert_int_equal(s->len, wire[0].len);
	assert_memory_equal(&s->mac, mac_of_neighbour(WAN), 6);
	s = find_step(b, TRACE_OPENED);
	assert_string_equal(s->name, "from-a");
	assert_int_equal(s->len, frame_packet_len(&f));
	assert_int_equal(addr4(&s->header.dst), ip_number("10.2.0.5"));
	assert_string_equal(find_step(b, TRACE_FLOW_KNOWN)->name, "udp_new");
	gateway_free(a);
	gateway_free(b);
}

// A translated flow: the rule and the packet afterwards, also of replies.
static void test_translated(void **state)
{
	struct gateway *g = site_a((struct site){
		.policies =
			",{ name = \"own\"; local = \"192.0.2.1\"; remote = \"198.51.100.0/24\"; "
			"action = \"bypass\"; }",
		.more = "nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = "
			"\"port\"; } );"});
	struct frame f = frame_ip(
		LAN, (struct ipv4){
			     .src = "10.1.0.5", .dst = "198.51.100.7", .sport = 4000, .dport = 53});
	struct frame reply = frame_ip(WAN,
		(struct ipv4){
			.src = "198.51.100.7", .dst = "192.0.2.1", .sport = 53, .dport = 4000});
	const struct trace_step *s;

	(void)state;
	gateway_trace(g, NULL, 3);
	gateway_expect_sent(g, &f, WAN);
	gateway_expect_sent(g, &reply, LAN);
	gateway_expect_sent(g, &f, WAN);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_BYPASS, TRACE_RULE_ACCEPT,
		TRACE_TRANSLATED, TRACE_FORWARD, TRACE_SENT);
	EXPECT_STEPS(g, 2, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_BYPASS, TRACE_TRANSLATED,
		TRACE_FORWARD, TRACE_SENT);
	EXPECT_STEPS(g, 3, TRACE_INPUT, TRACE_FLOW_KNOWN, TRACE_POLICY_BYPASS, TRACE_TRANSLATED,
		TRACE_FORWARD, TRACE_SENT);
	s = find_step(g, TRACE_TRANSLATED);
	assert_string_equal(s->name, "out");
	assert_int_equal(addr4(&s->header.src), ip_number("192.0.2.1"));
	gateway_free(g);
}

// For each drop: the last step before it, and the reason.
static void test_last_step_before_each_drop(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame auth = peer_seal_ip(&b, 1, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	struct frame selector = peer_seal_ip(&b, 2, (struct ipv4)FROM_TO("10.9.0.5", "10.1.0.5"));
	struct frame good = peer_seal_ip(&b, 3, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	struct frame no_sa = good, other = frame_ip(LAN, outward), ether = other;
	const struct {
		struct frame f;
		enum drop reason;
		enum trace_kind before;
	} rows[] = {
		{no_sa, DROP_NO_SA, TRACE_INPUT},
		{auth, DROP_AUTH, TRACE_SA_FOUND},
		{selector, DROP_SELECTOR, TRACE_POLICY_NONE},
		{good, DROP_NONE, TRACE_FORWARD},
		{good, DROP_REPLAY, TRACE_SA_FOUND},
		{other, DROP_MAC_OTHER, TRACE_INPUT},
		{ether, DROP_ETHERTYPE, TRACE_INPUT},
		{frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "203.0.113.1")),
			DROP_POLICY_DISCARD, TRACE_POLICY_DISCARD},
		{frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.18.0.1")), DROP_NO_ROUTE,
			TRACE_POLICY_BYPASS},
		{frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .proto = 99)),
			DROP_LOCAL_UNSERVED, TRACE_LOCAL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = rows[i].f;
		const struct trace_step *s, *before = NULL;

		if (rows[i].reason == DROP_NO_SA)
			put32(f.b + ETH_LEN + IP_LEN, 0xabc);
		if (rows[i].reason == DROP_AUTH)
			f.b[f.len - 1] ^= 1;
		if (rows[i].reason == DROP_MAC_OTHER)
			f.b[5] ^= 1;
		if (rows[i].reason == DROP_ETHERTYPE)
			put16(f.b + 12, 0x88cc);
		gateway_trace(g, NULL, 1);
		gateway_pass(g, &f, 1);
		expect_drops(g, rows[i].reason, rows[i].reason != DROP_NONE);
		for (uint32_t k = 0; (s = trace_step_at(g->trace, k)) != NULL; k++) {
			if (s->kind == TRACE_DROPPED || s->kind == TRACE_SENT)
				break;
			before = s;
		}
		assert_non_null(s);
		assert_non_null(before);
		assert_int_equal(s->reason, rows[i].reason);
		assert_int_equal(before->kind, rows[i].before);
		assert_true(trace_done(g->trace));
	}
	peer_free(&b);
	gateway_free(g);
}

// An error that the gateway sends about a packet is part of its trace; an ARP request is answered.
static void test_own(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame dying = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5", .ttl = 1));
	struct frame ping = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1",
						  .proto = IPPROTO_ICMP, .icmp_type = 8));
	struct frame arp = frame_arp(LAN, 1, "10.1.0.5", "10.1.0.1");

	(void)state;
	gateway_trace(g, NULL, 3);
	gateway_expect_drop(g, &dying, DROP_TTL);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_BYPASS, TRACE_RULE_ACCEPT,
		TRACE_DROPPED, TRACE_MADE, TRACE_SENT);
	gateway_expect_sent(g, &ping, LAN);
	EXPECT_STEPS(g, 2, TRACE_INPUT, TRACE_LOCAL, TRACE_MADE, TRACE_SENT);
	gateway_expect_sent(g, &arp, LAN);
	EXPECT_STEPS(g, 3, TRACE_INPUT, TRACE_ANSWERED);
	gateway_free(g);
}

static void test_dummies(void **state)
{
	struct gateway *g = site_a((struct site){.sa_out = "tfc = { dummies = 1000; };"});

	(void)state;
	gateway_trace(g, NULL, 1);
	for (unsigned int i = 0; i < 10 && !trace_done(g->trace); i++)
		gateway_wait(g, 10000);
	EXPECT_STEPS(g, 1, TRACE_MADE, TRACE_SEALED, TRACE_SENT);
	gateway_free(g);
}

// A held packet continues later, and the trace waits for it; also if the neighbour never answers.
static void test_held_packet_continues(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.77"));
	struct rte_ether_addr mac = {{2, 0, 0, 0, 7, 7}};
	struct ip_addr next;

	(void)state;
	gateway_trace(g, NULL, 1);
	gateway_pass(g, &f, 1);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_BYPASS, TRACE_RULE_ACCEPT,
		TRACE_FORWARD, TRACE_HELD);
	assert_int_equal(addr4(&find_step(g, TRACE_HELD)->next), ip_number("10.7.0.77"));
	assert_int_equal(trace_packets(g->trace), 1);
	assert_false(trace_done(g->trace));
	gateway_pass(g, &f, 1); // no longer traced
	next = addr_of("10.7.0.77");
	neigh_learn(harness_neigh, DMZ, &next, &mac, true, 0);
	gateway_wait(g, 10000);
	expect_all_sent(g, 2, DMZ);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_BYPASS, TRACE_RULE_ACCEPT,
		TRACE_FORWARD, TRACE_HELD, TRACE_SENT);
	assert_true(trace_done(g->trace));

	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.78"));
	gateway_trace(g, NULL, 1);
	gateway_pass(g, &f, 1);
	next = addr_of("10.7.0.78");
	neigh_resolve(harness_neigh, DMZ, &next, 0, 0);
	for (uint64_t now = 100; now <= 3000; now += 100)
		neigh_tick(harness_neigh, now);
	gateway_wait(g, 10000);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_BYPASS, TRACE_RULE_ACCEPT,
		TRACE_FORWARD, TRACE_HELD, TRACE_DROPPED, TRACE_MADE, TRACE_FORWARD, TRACE_SENT);
	assert_int_equal(find_step(g, TRACE_DROPPED)->reason, DROP_NEIGH_FAILED);
	assert_true(trace_done(g->trace));
	gateway_free(g);
}

// The next trace has no steps of a packet that was held when a trace ended.
static void test_held_from_before(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.77"));
	struct rte_ether_addr mac = {{2, 0, 0, 0, 7, 7}};
	struct ip_addr next;

	(void)state;
	gateway_trace(g, NULL, 1);
	gateway_pass(g, &f, 1);
	gateway_trace(g, NULL, 1);
	next = addr_of("10.7.0.77");
	neigh_learn(harness_neigh, DMZ, &next, &mac, true, 0);
	gateway_wait(g, 10000);
	expect_all_sent(g, 1, DMZ);
	assert_null(trace_step_at(g->trace, 0));
	assert_int_equal(trace_packets(g->trace), 0);
	gateway_free(g);
}

// A packet that is held until its group is active here.
static void test_expected_group(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, outward);

	(void)state;
	group_set(g, DAD_EXPECTED);
	gateway_trace(g, NULL, 1);
	gateway_pass(g, &f, 1);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_PROTECT, TRACE_EXPECTED);
	assert_false(trace_done(g->trace));
	group_set(g, DAD_ASSIGNED);
	gateway_pass(g, NULL, 0);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_PROTECT, TRACE_EXPECTED,
		TRACE_FLOW_NONE, TRACE_POLICY_PROTECT, TRACE_RULE_ACCEPT, TRACE_SEALED, TRACE_SENT);
	assert_true(trace_done(g->trace));
	gateway_free(g);
}

static void test_fragments(void **state)
{
	struct gateway *g = site_a((struct site){.mtu = 1000});
	struct ipv4 ip = outward;
	struct frame whole, part[2];

	(void)state;
	ip.len = 1400;
	whole = frame_ip(LAN, ip);
	gateway_trace(g, NULL, 3);
	gateway_pass(g, &whole, 1);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_PROTECT, TRACE_RULE_ACCEPT,
		TRACE_FRAGMENTED, TRACE_SEALED, TRACE_SEALED, TRACE_SENT, TRACE_SENT);
	assert_int_equal(find_step(g, TRACE_FRAGMENTED)->pieces, 2);
	assert_int_equal(find_step(g, TRACE_FRAGMENTED)->len, 1400);
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int off = i * 800, len = i == 0 ? 800 : 1380 - 800;

		part[i] = whole;
		memcpy(part[i].b + ETH_LEN + IP_LEN, frame_packet(&whole) + IP_LEN + off, len);
		part[i].len = (uint16_t)(ETH_LEN + IP_LEN + len);
		put16(part[i].b + ETH_LEN + 2, IP_LEN + len);
		put16(part[i].b + ETH_LEN + 6, off / 8 | (i == 0 ? MF : 0));
		ip_checksum_update(part[i].b + ETH_LEN);
	}
	gateway_pass(g, part, 2);
	EXPECT_STEPS(g, 2, TRACE_INPUT, TRACE_FRAGMENT_WAITS);
	EXPECT_STEPS(g, 3, TRACE_INPUT, TRACE_REASSEMBLED, TRACE_FLOW_KNOWN, TRACE_POLICY_PROTECT,
		TRACE_FRAGMENTED, TRACE_SEALED, TRACE_SEALED, TRACE_SENT, TRACE_SENT);
	gateway_free(g);
}

// Each filter selects some of four packets: 0 into the tunnel, 1 bypassing it, 2 dropped, 3 out of
// the tunnel.
static void test_filters(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	const struct {
		struct trace_filter f;
		unsigned int taken; // a bit for each packet
	} rows[] = {
		{{.proto = PROTO_ANY}, 0xf},
		{{TRACE_KEY_HEADER, .addr = net_of("10.2.0.0/16"), .proto = PROTO_ANY}, 0x9},
		{{TRACE_KEY_HEADER, .addr = net_of("10.7.0.5/32"), .proto = PROTO_ANY}, 0x2},
		{{TRACE_KEY_HEADER, .addr = net_of("192.0.2.2/32"), .proto = PROTO_ANY}, 0x9},
		{{TRACE_KEY_HEADER, .addr = net_of("192.0.2.2/32"), .proto = IPPROTO_UDP}, 0x0},
		{{TRACE_KEY_HEADER, .port = RTE_BE16(53), .proto = IPPROTO_UDP}, 0x1},
		{{TRACE_KEY_HEADER, .proto = IPPROTO_ESP}, 0x9},
		{{TRACE_KEY_SA, .sa = "to-b", .proto = PROTO_ANY}, 0x1},
		{{TRACE_KEY_SA, .sa = "from-b", .proto = PROTO_ANY}, 0x8},
		{{TRACE_KEY_SPI, .spi = rte_cpu_to_be_32(b.sa->opt.spi)}, 0x8},
		{{TRACE_KEY_IN, .in = WAN}, 0x8},
		{{TRACE_KEY_OUT, .out = DMZ}, 0x2},
		{{TRACE_KEY_DROP, .reason = DROP_NONE}, 0x4},
		{{TRACE_KEY_DROP, .reason = DROP_POLICY_DISCARD}, 0x4},
		{{TRACE_KEY_DROP, .reason = DROP_NO_ROUTE}, 0x0},
		{{TRACE_KEY_IN | TRACE_KEY_HEADER, .in = LAN, .proto = IPPROTO_ESP}, 0x1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f[4] = {
			frame_ip(LAN, outward),
			frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5")),
			frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "203.0.113.1")),
			peer_seal_ip(&b, i + 1, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5")),
		};
		unsigned int taken = 0;

		for (unsigned int k = 0; k < 4; k++) {
			gateway_trace(g, &rows[i].f, 1);
			gateway_pass(g, &f[k], 1);
			taken |= trace_packets(g->trace) << k;
		}
		if (taken != rows[i].taken)
			fail_msg("filter %zu: took %x, not %x", i, taken, rows[i].taken);
	}
	peer_free(&b);
	gateway_free(g);
}

// By policy, also where a flow makes the look-up unnecessary.
static void test_filter_policy(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct trace_filter f = {TRACE_KEY_POLICY, .proto = PROTO_ANY};
	struct frame out = frame_ip(LAN, outward);
	struct frame past = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5"));

	(void)state;
	gateway_expect_sent(g, &out, WAN);
	strcpy(f.policy, "b");
	gateway_trace(g, &f, 2);
	gateway_expect_sent(g, &past, DMZ);
	assert_int_equal(trace_packets(g->trace), 0);
	gateway_expect_sent(g, &out, WAN);
	assert_int_equal(trace_packets(g->trace), 1);
	gateway_free(g);
}

// More steps than the log has room for: they are counted, and the trace ends.
static void test_full_log_ends_trace(void **state)
{
	struct gateway *g = site_a((struct site){.mtu = 576, .lan_mtu = 1900});
	struct ipv4 ip = outward;
	struct frame f;
	uint32_t steps = 0;

	(void)state;
	ip.len = 1900;
	f = frame_ip(LAN, ip);
	gateway_trace(g, NULL, TRACE_PACKETS_MAX);
	for (unsigned int i = 0; i < TRACE_PACKETS_MAX; i++)
		gateway_pass(g, &f, 1);
	while (trace_step_at(g->trace, steps) != NULL)
		steps++;
	assert_int_equal(steps, TRACE_STEPS_MAX);
	assert_int_equal(trace_packets(g->trace), TRACE_PACKETS_MAX);
	// Each packet is input, flow, policy and fragment; each of its fragments is sealed and
	// sent.
	assert_int_equal(trace_lost(g->trace) + TRACE_STEPS_MAX,
		TRACE_PACKETS_MAX * (4 + 2 * find_step(g, TRACE_FRAGMENTED)->pieces) + 1);
	assert_true(trace_done(g->trace));
	gateway_free(g);
}

// Two workers trace into one log.
static void test_two_workers_one_log(void **state)
{
	struct gateway *a = site_a((struct site){0}), *b = site_b((struct site){0});
	struct frame f = frame_ip(LAN, outward), wire;

	(void)state;
	gateway_trace(a, NULL, 3);
	b->w->trace = b->w->tracing = a->trace;
	wire = frame_carry(gateway_expect_sent(a, &f, WAN));
	gateway_expect_sent(b, &wire, LAN);
	wire = frame_carry(gateway_expect_sent(a, &f, WAN));
	gateway_expect_sent(b, &wire, LAN);
	assert_int_equal(find_step(a, TRACE_SEALED)->worker, a->w->id);
	assert_int_equal(find_step(a, TRACE_OPENED)->worker, b->w->id);
	EXPECT_STEPS(a, 2, TRACE_INPUT, TRACE_SA_FOUND, TRACE_OPENED, TRACE_FLOW_NONE,
		TRACE_POLICY_PROTECT, TRACE_RULE_ACCEPT, TRACE_FORWARD, TRACE_SENT);
	assert_int_equal(trace_packets(a->trace), 3);
	assert_true(trace_done(a->trace));
	gateway_free(b);
	gateway_free(a);
}

// A pass starts to trace within a millisecond, and stops at once.
static void test_trace_starts_and_stops(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, outward);

	(void)state;
	gateway_trace(g, NULL, 2);
	g->w->tracing = NULL; // as when the control thread has just requested it
	gateway_expect_sent(g, &f, WAN);
	assert_int_equal(trace_packets(g->trace), 0);
	assert_ptr_equal(g->w->tracing, g->trace);
	gateway_expect_sent(g, &f, WAN);
	assert_int_equal(trace_packets(g->trace), 1);
	g->w->trace = NULL;
	gateway_expect_sent(g, &f, WAN);
	assert_null(g->w->tracing);
	assert_int_equal(trace_packets(g->trace), 1);
	assert_null(trace_step_at(g->trace, 7));
	gateway_free(g);
}

// Headers of random octets: nothing is read beyond the end.
static void test_any_octets(void **state)
{
	uint64_t seed = 1;
	struct frame good = frame_ip(LAN, outward);

	(void)state;
	for (unsigned long i = 0; i < rounds(20000); i++) {
		uint32_t len = random_below(&seed, 80);
		uint8_t *octets = malloc(len + 1); // the address sanitizer watches its end
		struct trace_header h;

		assert_non_null(octets);
		memcpy(octets, good.b, len);
		for (unsigned int k = 0; k < 4 && len > 0; k++)
			octets[random_below(&seed, len)] = (uint8_t)random_u64(&seed);
		if (len > 14 && random_below(&seed, 2) == 0)
			memcpy(octets + 12, "\x86\xdd\x60", 3);
		octets = realloc(octets, len > 0 ? len : 1);
		trace_header_read_frame(&h, octets, len);
		trace_header_read_ip(&h, octets, len);
		free(octets);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_paths),
		pipeline_test(test_translated),
		pipeline_test(test_last_step_before_each_drop),
		pipeline_test(test_own),
		pipeline_test(test_dummies),
		pipeline_test(test_held_packet_continues),
		pipeline_test(test_held_from_before),
		group_test(test_expected_group),
		pipeline_test(test_fragments),
		pipeline_test(test_filters),
		pipeline_test(test_filter_policy),
		pipeline_test(test_full_log_ends_trace),
		pipeline_test(test_two_workers_one_log),
		pipeline_test(test_trace_starts_and_stops),
		pipeline_test(test_any_octets),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
