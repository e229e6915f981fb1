// SPDX-License-Identifier: BSD-3-Clause
// Packets from networks to which several next hops lead, and packets of the gateway to them.
#include <netinet/in.h>

#include "match.h"
#include "peer.h"
#include "site_hops.h"

// The route back leads into either tunnel.
static void test_source(void **state)
{
	static const struct {
		const char *sa, *src;
		enum drop drop;
	} rows[] = {
		{"from-b", "10.6.0.9", DROP_NONE},
		{"from-c", "10.6.0.9", DROP_NONE},
		{"from-b", "10.7.0.9", DROP_TUNNEL_SOURCE},
		{"from-b", "10.5.0.9", DROP_TUNNEL_SOURCE},
	};
	struct gateway *g = gateway_new(0, site_hops);
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("10.6.0.9", "10.1.0.5"));

	(void)state;
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_IP_SOURCE, 1);
	for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
		struct peer peer = peer_new(g, rows[i].sa);

		f = peer_seal_ip(&peer, 1 + i, (struct ipv4)FROM_TO(rows[i].src, "10.1.0.5"));
		gateway_pass(g, &f, 1);
		assert_int_equal(g->n_sent, rows[i].drop == DROP_NONE);
		if (rows[i].drop != DROP_NONE)
			expect_drops(g, rows[i].drop, 1);
		peer_free(&peer);
	}
	gateway_free(g);
}

// An error to a host behind several routers, and one about a packet that was sent by one of two.
static void test_own_packets(void **state)
{
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("10.5.0.9", "10.1.0.5", .ttl = 1));
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	gateway_expect_drop(g, &f, DROP_TTL);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

static void test_match(void **state)
{
	struct match_query q = {.proto = IPPROTO_UDP, .source_port = 1024};
	struct gateway *g = gateway_new(0, site_hops);
	struct match m;

	(void)state;
	ip_addr_parse(&q.source, "10.1.0.5");
	ip_addr_parse(&q.destination, "10.5.0.9");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NONE);
	assert_int_equal(m.nexthop->kind, NEXTHOP_GATEWAY);
	ip_addr_parse(&q.destination, "10.1.0.5");
	ip_addr_parse(&q.source, "10.6.0.9");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NONE);
	assert_non_null(m.sa_in);
	gateway_free(g);
}

// A segment of a connection of a host inside with one out of the tunnels.
static uint16_t segment_write(uint8_t *out, unsigned int client, bool from_server, uint16_t flags,
	uint32_t seq, uint32_t ack)
{
	const uint16_t port = (uint16_t)(2000 + client);
	uint16_t len = ip_write(out,
		from_server ? (struct ipv4)FROM_TO("10.6.0.9", "10.1.0.5", .proto = IPPROTO_TCP,
				      .len = 40, .sport = 80, .dport = port)
			    : (struct ipv4)FROM_TO("10.1.0.5", "10.6.0.9", .proto = IPPROTO_TCP,
				      .len = 40, .sport = port, .dport = 80));

	put32(out + IP_LEN + 4, seq);
	put32(out + IP_LEN + 8, ack);
	put16(out + IP_LEN + 12, 0x5000u | flags);
	put16(out + IP_LEN + 14, 8192);
	return len;
}

// The client's segment leaves by tunnel c.
static void expect_by_c(struct gateway *g, const uint8_t *text, uint16_t len)
{
	struct frame f = frame_raw(LAN, text, len);

	gateway_expect_sent(g, &f, WAN);
	assert_int_equal(be32(frame_packet(&g->sent[0]) + IP_LEN), 0x2001);
}

// A packet that is out of the window of its connection has no flow, but leaves by the tunnel of it.
static void test_invalid_packets(void **state)
{
	struct gateway *g;
	const struct spd_policy *b;
	uint8_t text[FRAME_MAX];
	char conf[8192];
	struct peer c;
	uint16_t len;

	(void)state;
	snprintf(conf, sizeof(conf),
		"%s rules = ( { name = \"odd\"; action = \"accept\"; state = [ \"invalid\" ]; } );",
		site_hops);
	g = gateway_new(0, conf);
	b = spd_at(g->snapshot->spd, spd_count_policies(g->snapshot->spd));
	c = peer_new(g, "from-c");
	for (unsigned int i = 0; i < 10; i++) {
		struct frame f;

		objects_out_set(g->snapshot->objects, b->number, NULL);
		expect_by_c(g, text, segment_write(text, i, false, 0x02, 1000, 0));
		objects_out_set(g->snapshot->objects, b->number, b->out);
		len = segment_write(text, i, true, 0x12, 5000, 1001);
		len = peer_trailer(&c, text, len, IPPROTO_IPIP);
		f = peer_seal(&c, (struct esp){.seq = i + 1, .text = text, .text_len = len});
		gateway_expect_sent(g, &f, LAN);
		expect_by_c(g, text, segment_write(text, i, false, 0x10, 1001, 5001));
		expect_by_c(g, text, segment_write(text, i, false, 0x10, 900000, 5001));
	}
	peer_free(&c);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_source),
		pipeline_test(test_own_packets),
		pipeline_test(test_match),
		pipeline_test(test_invalid_packets),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
