// SPDX-License-Identifier: BSD-3-Clause
// Proves which drops are posted to the control thread for the audit log, and with which fields (RFC
// 4303 2.1, 3.3.3, 3.4; RFC 4301 5.2): the first of an SA for a reason in a second.
#include <netinet/in.h>

#include "datagram.h"
#include "peer.h"
#include "site.h"
#include "site_v6.h"

#define SECOND 1000000 // of the tests' time

static const struct ipv4 good = {.src = "10.2.0.5", .dst = "10.1.0.5"};

// Dequeues the only event: about this drop, with this count.
static struct event take_event(
	struct gateway *g, enum drop reason, const struct sa *sa, uint64_t count)
{
	struct event e;

	if (!worker_event_dequeue(g->w, &e))
		fail_msg("no event of %s", drop_info[reason].name);
	assert_int_equal(e.kind, EVENT_AUDIT);
	assert_int_equal(e.reason, reason);
	assert_ptr_equal(e.sa, sa);
	assert_int_equal(e.count, count);
	assert_int_equal(e.worker, g->w->id);
	assert_int_equal(e.generation, gateway_generation(g));
	expect_no_event(g);
	return e;
}

static void check_outer(const struct event *e, uint32_t spi, uint32_t seq)
{
	assert_false(e->inner);
	assert_int_equal(rte_be_to_cpu_32(e->spi), spi);
	assert_int_equal(rte_be_to_cpu_32(e->seq), seq);
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e->addr)), ip_number("192.0.2.2"));
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e->peer)), ip_number("192.0.2.1"));
}

// The name of the ESP packet that is sent for a reason.
static struct frame bad_frame(const struct peer *b, enum drop reason, uint32_t seq)
{
	struct frame f = peer_seal_ip(b, seq, good);
	uint8_t text[64] = {0};

	switch (reason) {
	case DROP_NO_SA:
		put32(f.b + ETH_LEN + IP_LEN, 0x00000abc);
		return f;
	case DROP_AUTH:
		f.b[f.len - 1] ^= 1;
		return f;
	case DROP_NEXT_HEADER:
		return peer_seal(b, (struct esp){.seq = seq,
					    .text = text,
					    .text_len = peer_trailer(b, text, 20, IPPROTO_TCP)});
	case DROP_DUMMY:
		return peer_seal(b, (struct esp){.seq = seq,
					    .text = text,
					    .text_len = peer_trailer(b, text, 20, IPPROTO_NONE)});
	default:
		return f;
	}
}

// Of each reason the first drop in a second is posted, and the others are in its count.
static void test_first_in_a_second(void **state)
{
	static const enum drop reasons[] = {DROP_NO_SA, DROP_AUTH, DROP_NEXT_HEADER};
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	const struct sa *sa = &gateway_sa_in(g, "from-b")->sa;
	uint32_t seq = 0;

	(void)state;
	for (uint64_t second = 1; second <= 3; second++)
		for (size_t i = 0; i < COUNT_OF(reasons); i++) {
			const struct sa *of = reasons[i] == DROP_NO_SA ? NULL : sa;

			g->now = second * SECOND;
			for (unsigned int n = 0; n < 10; n++) {
				struct frame f = bad_frame(&b, reasons[i], ++seq);

				gateway_expect_drop(g, &f, reasons[i]);
				if (n > 0) {
					expect_no_event(g);
					continue;
				}

				struct event e =
					take_event(g, reasons[i], of, 10 * (second - 1) + 1);

				check_outer(&e, of == NULL ? 0xabc : b.sa->opt.spi, seq);
			}
		}
	peer_free(&b);
	gateway_free(g);
}

// A second packet with the same number, in the same burst and later.
static void test_replay_in_burst_and_later(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	const struct frame twice[2] = {peer_seal_ip(&b, 7, good), peer_seal_ip(&b, 7, good)};
	const struct sa *sa = &gateway_sa_in(g, "from-b")->sa;
	struct event e;

	(void)state;
	g->now = SECOND;
	gateway_pass(g, twice, 2);
	expect_drops(g, DROP_REPLAY, 1);
	e = take_event(g, DROP_REPLAY, sa, 1);
	check_outer(&e, b.sa->opt.spi, 7);
	g->now = 2 * SECOND;
	gateway_expect_drop(g, &twice[0], DROP_REPLAY);
	e = take_event(g, DROP_REPLAY, sa, 2);
	check_outer(&e, b.sa->opt.spi, 7);
	peer_free(&b);
	gateway_free(g);
}

// An inner header is reported with the ESP packet that contained it, whatever is wrong with it.
static void test_inner_header(void **state)
{
	static const uint8_t version = 5 << 4 | 5, options = 4 << 4 | 6;
	const uint8_t first[] = {version, options};
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");

	(void)state;
	for (uint32_t seq = 1; seq <= COUNT_OF(first); seq++) {
		uint8_t text[FRAME_MAX];
		uint16_t len = ip_write(text, good);
		struct frame f;
		struct event e;

		text[0] = first[seq - 1];
		put32(text + IP_LEN, 0x0700ffff); // an option without room for its length
		put16(text + 10, 0);
		put16(text + 10, checksum(text, IP_LEN + 4));
		f = peer_seal_packet(&b, seq, text, len);
		g->now = seq * SECOND;
		gateway_expect_drop(g, &f, DROP_INNER_HEADER);
		e = take_event(g, DROP_INNER_HEADER, &gateway_sa_in(g, "from-b")->sa, seq);
		check_outer(&e, b.sa->opt.spi, seq);
	}
	peer_free(&b);
	gateway_free(g);
}

// The record has the inner packet, since policy is about that.
static void test_selector_event_has_inner_packet(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct ipv4 ip = FROM_TO("10.3.0.5", "10.1.0.5", .sport = 53, .dport = 1024);
	struct frame f = peer_seal_ip(&b, 1, ip);
	struct event e;

	(void)state;
	g->now = SECOND;
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	e = take_event(g, DROP_SELECTOR, &gateway_sa_in(g, "from-b")->sa, 1);
	assert_true(e.inner);
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number("10.3.0.5"));
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.peer)), ip_number("10.1.0.5"));
	assert_int_equal(e.proto, IPPROTO_UDP);
	assert_int_equal(rte_be_to_cpu_16(e.addr_port), 53);
	assert_int_equal(rte_be_to_cpu_16(e.peer_port), 1024);
	peer_free(&b);
	gateway_free(g);
}

static void check_sequence_end(enum outer outer, bool v6)
{
	struct gateway *g = site_v6_a(outer, (struct site){0});
	struct sa_out *sa = gateway_sa_out(g, "out");
	struct frame f = v6 ? frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5"))
			    : frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	struct event e;

	g->now = SECOND;
	sa->seq = sa->seq_max;
	gateway_expect_drop(g, &f, DROP_SEQUENCE_END);
	e = take_event(g, DROP_SEQUENCE_END, &sa->sa, 1);
	assert_true(e.inner);
	if (v6) {
		assert_memory_equal(&e.addr, ip6_octets("2001:db8:1::5"), 16);
		assert_memory_equal(&e.peer, ip6_octets("2001:db8:2::5"), 16);
	} else {
		assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number("10.1.0.5"));
		assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.peer)), ip_number("10.2.0.5"));
	}
	gateway_free(g);
}

// Of the packet that was to be protected, whatever the family of the tunnel.
static void test_sequence_end(void **state)
{
	(void)state;
	check_sequence_end(OVER_V4, false);
	check_sequence_end(OVER_V4, true);
	check_sequence_end(OVER_V6, false);
	check_sequence_end(OVER_V6, true);
}

// A fragment out of a tunnel is handed to a worker to whom its SA is gone: two configurations stand
// for the moment in which one replaces the other.
static void test_handed_fragment(void **state)
{
	struct gateway *g[2] = {site_a((struct site){0}), NULL};
	struct peer b = peer_new(g[0], "from-b");
	struct worker *workers[2];
	unsigned int handed = 0;
	char text[8192], *spi;

	(void)state;
	site_a_conf(text, sizeof(text), (struct site){0});
	spi = strstr(text, "0x1002");
	assert_non_null(spi);
	memcpy(spi, "0x1999", strlen("0x1999"));
	g[1] = gateway_new(1, text);
	gateway_generation_next(g[1]);
	for (unsigned int i = 0; i < 2; i++) {
		workers[i] = g[i]->w;
		g[i]->now = SECOND;
	}
	for (unsigned int i = 0; i < 2; i++)
		worker_peers_set(g[i]->w, workers, 2);
	datagram_fill(2000, 9);
	for (uint16_t id = 1; id <= 32; id++) {
		struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5", .id = id);
		struct frame fragment[2], wire;
		struct event e;

		pieces(fragment, WAN, ip, 1000);
		wire = sealed(&b, id, &fragment[0]);
		gateway_pass(g[0], &wire, 1);
		gateway_pass(g[1], NULL, 0);
		if (!worker_event_dequeue(g[1]->w, &e))
			continue;
		handed++;
		assert_int_equal(e.reason, DROP_NO_SA);
		assert_true(e.inner);
		assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number("10.2.0.5"));
		assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.peer)), ip_number("10.1.0.5"));
		g[1]->now += SECOND;
	}
	assert_true(handed > 0);
	peer_free(&b);
	gateway_free(g[0]);
	gateway_free(g[1]);
}

// Over IPv6 the flow label is part of the record.
static void test_flow_label(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0}),
		       *b = site_v6_b(OVER_V6, (struct site){0});
	struct frame f = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5"));
	struct frame wire = frame_carry(gateway_expect_sent(a, &f, WAN));
	struct event e;

	(void)state;
	b->now = SECOND;
	put32(wire.b + ETH_LEN, 6u << 28 | 0xabcde);
	wire.b[wire.len - 1] ^= 1;
	gateway_expect_drop(b, &wire, DROP_AUTH);
	e = take_event(b, DROP_AUTH, &gateway_sa_in(b, "in")->sa, 1);
	assert_int_equal(e.flow_label, 0xabcde);
	assert_memory_equal(&e.addr, ip6_octets("2001:db8:f::1"), 16);
	assert_memory_equal(&e.peer, ip6_octets("2001:db8:f::2"), 16);
	assert_int_equal(rte_be_to_cpu_32(e.seq), 1);
	gateway_free(a);
	gateway_free(b);
}

// Packets that policy drops, if they are to be audited: the event names no SA.
static void test_policy(void **state)
{
	static const struct {
		enum drop reason;
		uint16_t port;
		const char *src, *dst;
	} packets[] = {
		{DROP_POLICY_DISCARD, LAN, "10.1.0.5", "203.0.113.9"},
		{DROP_CLEAR_TEXT, WAN, "10.2.0.5", "10.1.0.5"},
	};
	struct gateway *g = site_a((struct site){.more = "audit = \"policy\";"});

	(void)state;
	g->now = SECOND;
	for (size_t i = 0; i < COUNT_OF(packets); i++) {
		struct frame f = frame_ip(packets[i].port,
			(struct ipv4)FROM_TO(packets[i].src, packets[i].dst, .sport = 53));
		struct event e;

		gateway_expect_drop(g, &f, packets[i].reason);
		e = take_event(g, packets[i].reason, NULL, 1);
		assert_true(e.inner);
		assert_int_equal(e.port, packets[i].port);
		assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number(packets[i].src));
		assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.peer)), ip_number(packets[i].dst));
		assert_int_equal(rte_be_to_cpu_16(e.addr_port), 53);
		gateway_expect_drop(g, &f, packets[i].reason); // in the same second
		expect_no_event(g);
	}
	gateway_free(g);
}

static void test_none(void **state)
{
	struct gateway *g = site_a((struct site){.more = "audit = \"none\";"});
	struct peer b = peer_new(g, "from-b");
	struct frame f = bad_frame(&b, DROP_AUTH, 1);

	(void)state;
	g->now = SECOND;
	gateway_expect_drop(g, &f, DROP_AUTH);
	expect_no_event(g);
	peer_free(&b);
	gateway_free(g);
}

// Drops that are no sign of an attack, or of a mistake at the peer, are counted and not posted.
static void test_not_audited(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame dummy = bad_frame(&b, DROP_DUMMY, 1);
	struct frame discarded = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "203.0.113.9"));

	(void)state;
	g->now = SECOND;
	gateway_expect_drop(g, &dummy, DROP_DUMMY);
	gateway_expect_drop(g, &discarded, DROP_POLICY_DISCARD);
	expect_no_event(g);
	peer_free(&b);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_first_in_a_second),
		pipeline_test(test_replay_in_burst_and_later),
		pipeline_test(test_inner_header),
		pipeline_test(test_selector_event_has_inner_packet),
		pipeline_test(test_sequence_end),
		pipeline_test(test_handed_fragment),
		pipeline_test(test_flow_label),
		pipeline_test(test_policy),
		pipeline_test(test_none),
		pipeline_test(test_not_audited),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
