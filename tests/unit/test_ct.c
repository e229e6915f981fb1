// SPDX-License-Identifier: BSD-3-Clause
// Connection tracking of everything but TCP segments: UDP, ICMP, other protocols, ICMP errors about
// any of them; and decisions of an entry that is reused for a new connection.
#include "flows.h"

static uint8_t buf[PACKET_MAX];

static struct flow_pkt error_about(const struct rte_ipv4_hdr *about, uint32_t from)
{
	static uint8_t error[PACKET_MAX];

	return flow_pkt_of(packet_error(error, from, rte_be_to_cpu_32(about->src_addr), about, 28));
}

static void expect_error(struct flows *s, const struct flow_pkt *p, enum drop expected)
{
	struct flow *f;

	assert_int_equal(flows_pass(s, 0, p, 0, &f), expected);
	if (expected == DROP_NONE)
		assert_int_equal(flow_ct(f, p), FLOW_CT_RELATED);
}

static struct flow_pkt error_about_segment(uint32_t src, uint32_t dst, uint32_t seq)
{
	bool a = src == HOST_A;

	return error_about(packet_tcp(buf, &(struct segment){.src = src,
						   .dst = dst,
						   .sport = a ? 1 : 2,
						   .dport = a ? 2 : 1,
						   .flags = ACK,
						   .seq = seq,
						   .scale = -1}),
		0x01020304);
}

static void test_other_protocols(void **state)
{
	struct flow_pkt a = pkt_udp(HOST_A, 1, HOST_B, 2), b = pkt_udp(HOST_B, 2, HOST_A, 1);
	struct flow_pkt ping = pkt_icmp(HOST_A, HOST_B, 8, 1),
			pong = pkt_icmp(HOST_B, HOST_A, 0, 1);
	struct flow_pkt gre = pkt_other(HOST_B, HOST_A, 47),
			gre_back = pkt_other(HOST_A, HOST_B, 47);
	struct flow_pkt alone = pkt_icmp(HOST_A, HOST_B, 0, 7);
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	flows_pass_to(&s, a, 1000, FLOW_UDP_NEW, FLOW_CT_NEW);
	flows_pass_to(&s, a, 9000, FLOW_UDP_NEW, FLOW_CT_NEW); // no stream without a reply
	flows_pass_to(&s, b, 9000, FLOW_UDP_STREAM, FLOW_CT_ESTABLISHED);
	a = pkt_udp(HOST_A, 11, HOST_B, 2);
	b = pkt_udp(HOST_B, 2, HOST_A, 11);
	flows_pass_to(&s, a, 1000, FLOW_UDP_NEW, FLOW_CT_NEW);
	flows_pass_to(&s, b, 1100, FLOW_UDP_REPLIED, FLOW_CT_ESTABLISHED);
	flows_pass_to(&s, a, 3000, FLOW_UDP_REPLIED, FLOW_CT_ESTABLISHED);
	flows_pass_to(&s, a, 3001, FLOW_UDP_STREAM, FLOW_CT_ESTABLISHED);
	flows_pass_to(&s, b, 3002, FLOW_UDP_STREAM, FLOW_CT_ESTABLISHED);
	flows_pass_to(&s, ping, 0, FLOW_ICMP_NEW, FLOW_CT_NEW);
	flows_pass_to(&s, pong, 0, FLOW_ICMP_REPLIED, FLOW_CT_ESTABLISHED);
	flows_pass_to(&s, ping, 0, FLOW_ICMP_REPLIED, FLOW_CT_ESTABLISHED);
	flows_pass_to(&s, gre, 0, FLOW_OTHER_NEW, FLOW_CT_NEW);
	flows_pass_to(&s, gre_back, 0, FLOW_OTHER_REPLIED, FLOW_CT_ESTABLISHED);
	assert_int_equal(flows_pass(&s, 0, &alone, 0, &f), DROP_CT_INVALID);
	assert_null(flows_find_one(s.t, &alone));
	assert_int_equal(flows_count(&s).refused[DROP_CT_INVALID], 1);
	flows_fini(&s);
}

// A new connection in an old entry: the decisions for the old one are invalid.
static void test_reopened_is_undecided(void **state)
{
	struct flow_pkt syn = pkt_tcp(HOST_A, 1, HOST_B, 2, SYN, 100, 0);
	struct flow_pkt refusal = pkt_tcp(HOST_B, 2, HOST_A, 1, RST | ACK, 0, 101);
	struct flow_decision d = {0};
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	flows_pass_to(&s, syn, 0, FLOW_TCP_SYN_SENT, FLOW_CT_NEW);
	f = flows_find_one(s.t, &syn);
	flow_decision_set(f, 0, 7, &d);
	flow_decision_set(f, 1, 7, &d);
	flows_pass_to(&s, refusal, 0, FLOW_TCP_CLOSE, FLOW_CT_ESTABLISHED);
	assert_true(flow_decision_get(f, 0, 7, &d));
	flows_pass_to(&s, syn, 50, FLOW_TCP_SYN_SENT, FLOW_CT_NEW);
	assert_ptr_equal(flows_find_one(s.t, &syn), f);
	assert_false(flow_decision_get(f, 0, 7, &d));
	assert_false(flow_decision_get(f, 1, 7, &d));
	assert_int_equal(f->dir[syn.dir].packets, 1);
	assert_int_equal(f->dir[!syn.dir].packets, 0);
	assert_int_equal(flows_count(&s).reopened, 1);
	assert_int_equal(flow_count(s.t), 1);
	flows_fini(&s);
}

static void test_icmp_error_udp(void **state)
{
	struct flow_pkt a = pkt_udp(HOST_A, 1, HOST_B, 2), e, error;
	struct flow *f;
	struct flows s;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	flows_pass_to(&s, a, 0, FLOW_UDP_NEW, FLOW_CT_NEW);
	e = error_about(packet_udp(buf, HOST_A, HOST_B, 1, 2), 0x01020304);
	assert_true(same_flow(a, e));
	assert_int_not_equal(a.dir, e.dir); // wrong direction
	expect_error(&s, &e, DROP_NONE);
	f = flows_find_one(s.t, &a);
	assert_int_equal(flow_word_state(flow_word(f)), FLOW_UDP_NEW); // no reply
	assert_int_equal(f->dir[0].packets + f->dir[1].packets, 1);
	error = error_about(packet_udp(buf, HOST_A, HOST_B, 1, 3), 0x01020304);
	expect_error(&s, &error, DROP_ICMP_UNRELATED);
	// The sequence numbers that the other end has sent.
	error = error_about(packet_udp(buf, HOST_B, HOST_A, 2, 1), 0x01020304);
	expect_error(&s, &error, DROP_NONE);
	assert_int_equal(error.dir, a.dir);
	assert_int_equal(flow_count(s.t), 1);
	flows_fini(&s);
}

static void test_icmp_error_ping(void **state)
{
	struct flow_pkt ping = pkt_icmp(HOST_A, HOST_B, 8, 3), e;
	struct flows s;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	flows_pass_to(&s, ping, 0, FLOW_ICMP_NEW, FLOW_CT_NEW);
	e = error_about(packet_icmp(buf, HOST_A, HOST_B, 8, 3), 0x01020304);
	assert_true(same_flow(ping, e));
	expect_error(&s, &e, DROP_NONE);
	e = error_about(packet_icmp(buf, HOST_A, HOST_B, 8, 4), 0x01020304);
	expect_error(&s, &e, DROP_ICMP_UNRELATED);
	flows_fini(&s);
}

// RFC 5927 4.1: the quoted segment has to be in flight.
static void test_icmp_error_tcp(void **state)
{
	static const struct {
		uint32_t src, seq;
		enum drop expected;
	} rows[] = {
		{HOST_A, 5001, DROP_NONE}, // not acknowledged
		{HOST_A, 5100, DROP_NONE},
		{HOST_A, 5101, DROP_NONE},           // an acknowledgement has the next number
		{HOST_A, 5102, DROP_ICMP_UNRELATED}, // not sent yet
		{HOST_A, 5000, DROP_ICMP_UNRELATED}, // acknowledged
		{HOST_A, 0, DROP_ICMP_UNRELATED},
		{HOST_A, 0x80001388, DROP_ICMP_UNRELATED},
		{HOST_B, 9001, DROP_NONE},
		{HOST_B, 9000, DROP_ICMP_UNRELATED},
		{HOST_B, 9002, DROP_ICMP_UNRELATED},
	};
	struct flow_pkt p, e;
	struct flows s;
	struct flow *f;

	(void)state;
	flows_init(&s, 100, 1, NULL);
	flows_pass_to(
		&s, pkt_tcp(HOST_A, 1, HOST_B, 2, SYN, 5000, 0), 0, FLOW_TCP_SYN_SENT, FLOW_CT_NEW);
	e = error_about_segment(HOST_A, HOST_B, 5000);
	expect_error(&s, &e, DROP_NONE);
	e = error_about_segment(HOST_A, HOST_B, 4999);
	expect_error(&s, &e, DROP_ICMP_UNRELATED);
	e = error_about_segment(HOST_B, HOST_A, 0); // has not sent anything
	expect_error(&s, &e, DROP_ICMP_UNRELATED);
	flows_pass_to(&s, pkt_tcp(HOST_B, 2, HOST_A, 1, SYN | ACK, 9000, 5001), 0,
		FLOW_TCP_SYN_RECV, FLOW_CT_ESTABLISHED);
	flows_pass_to(&s, pkt_tcp(HOST_A, 1, HOST_B, 2, ACK, 5001, 9001), 0, FLOW_TCP_ESTABLISHED,
		FLOW_CT_ESTABLISHED);
	p = flow_pkt_of(packet_tcp(buf, &(struct segment){.src = HOST_A,
						.dst = HOST_B,
						.sport = 1,
						.dport = 2,
						.flags = ACK,
						.seq = 5001,
						.ack = 9001,
						.window = 1000,
						.len = 100,
						.scale = -1}));
	assert_int_equal(flows_pass(&s, 0, &p, 0, &f), DROP_NONE);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		e = error_about_segment(
			rows[i].src, rows[i].src == HOST_A ? HOST_B : HOST_A, rows[i].seq);
		expect_error(&s, &e, rows[i].expected);
	}
	f = flows_find_one(s.t, &p);
	assert_int_equal(flow_word_state(flow_word(f)), FLOW_TCP_ESTABLISHED);
	flows_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_protocols),
		cmocka_unit_test(test_reopened_is_undecided),
		cmocka_unit_test(test_icmp_error_udp),
		cmocka_unit_test(test_icmp_error_ping),
		cmocka_unit_test(test_icmp_error_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
