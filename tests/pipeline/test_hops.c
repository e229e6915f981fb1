// SPDX-License-Identifier: BSD-3-Clause
// Routes with several next hops: 10.5.0.0/16 by two routers, 10.6.0.0/16 by two tunnels.
#include <netinet/in.h>

#include "match.h"
#include "peer.h"
#include "site.h"

enum { WAN2 = DMZ };

#define FLOWS 600

#define SA(name, direction, spi, remote, key)                                                      \
	"  { name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi "\"; local = "      \
	"\"192.0.2.1\"; remote = \"" remote "\"; cipher = \"null\"; auth = \"hmac-sha1-96\"; "     \
	"auth_key = \"00112233445566778899aabbccddeeff001122" key "\"; }"

static const char conf[] =
	"flows = { max = 4096; };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; },\n"
	"  { name = \"wan2\"; device = \"net_null2\"; addresses = [ \"198.51.100.1/24\" ]; side = "
	"\"unprotected\"; } );\n"
	"routes = (\n"
	"  { to = \"10.5.0.0/16\"; hops = (\n"
	"    { via = \"192.0.2.254\"; weight = 2; }, { via = \"198.51.100.254\"; port = \"wan2\"; "
	"} ); },\n"
	"  { to = \"10.6.0.0/16\"; hops = ( { tunnel = \"b\"; }, { tunnel = \"c\"; } ); },\n"
	"  { to = \"10.7.0.0/16\"; tunnel = \"c\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"192.0.2.3\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"198.51.100.254\"; mac = \"02:00:00:00:02:02\"; } );\n"
	"sas = (\n" SA("to-b", "out", "0x1001", "192.0.2.2", "33") ",\n" SA(
		"from-b", "in", "0x1002", "192.0.2.2", "34") ",\n" SA("to-c", "out", "0x2001",
		"192.0.2.3", "35") ",\n" SA("from-c", "in", "0x2002", "192.0.2.3",
		"36") " );\n"
		      "tunnels = ( { name = \"b\"; out = \"to-b\"; in = \"from-b\"; },\n"
		      "  { name = \"c\"; out = \"to-c\"; in = \"from-c\"; } );\n"
		      "policies = ( { name = \"clear\"; action = \"bypass\"; } );\n";

// Sends the first or next packet of each flow to the address. path: its port, of ESP its SPI.
static void send_flows(struct gateway *g, const char *dst, uint32_t path[FLOWS])
{
	for (unsigned int i = 0; i < FLOWS; i++) {
		struct frame f = frame_ip(
			LAN, (struct ipv4)FROM_TO("10.1.0.5", dst, .sport = (uint16_t)(1024 + i)));
		const uint8_t *p = frame_packet(&g->sent[0]);

		gateway_pass(g, &f, 1);
		assert_int_equal(g->n_sent, 1);
		path[i] = p[9] == IPPROTO_ESP ? be32(p + IP_LEN) : g->sent[0].port;
	}
}

static unsigned int count(const uint32_t path[FLOWS], uint32_t which)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < FLOWS; i++)
		n += path[i] == which;
	return n;
}

static void expect_same(const uint32_t a[FLOWS], const uint32_t b[FLOWS])
{
	assert_memory_equal(a, b, FLOWS * sizeof(a[0]));
}

// As the control thread does when a link or a tunnel has changed.
static void decide_again(struct gateway *g)
{
	g->snapshot->flow_generation = snapshot_generation_next(g->snapshot->flow_generation);
}

static void test_routers(void **state)
{
	struct gateway *g = gateway_new(0, conf);
	uint32_t first[FLOWS], next[FLOWS];

	(void)state;
	send_flows(g, "10.5.0.9", first);
	assert_in_range(count(first, WAN), FLOWS * 55 / 100, FLOWS * 78 / 100);
	assert_int_equal(count(first, WAN) + count(first, WAN2), FLOWS);
	send_flows(g, "10.5.0.9", next);
	expect_same(first, next);
	decide_again(g); // decided again
	send_flows(g, "10.5.0.9", next);
	expect_same(first, next);
	atomic_store(&g->snapshot->objects->link_down[WAN], true);
	decide_again(g);
	send_flows(g, "10.5.0.9", next);
	assert_int_equal(count(next, WAN2), FLOWS);
	gateway_free(g);
}

static void test_tunnels(void **state)
{
	struct gateway *g = gateway_new(0, conf);
	const struct spd_policy *b = spd_at(g->snapshot->spd, spd_count_policies(g->snapshot->spd)),
				*c = spd_at(
					g->snapshot->spd, spd_count_policies(g->snapshot->spd) + 1);
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.6.0.9", .sport = 1000));
	uint32_t first[FLOWS], next[FLOWS];

	(void)state;
	send_flows(g, "10.6.0.9", first);
	assert_in_range(count(first, 0x1001), FLOWS * 40 / 100, FLOWS * 60 / 100);
	assert_int_equal(count(first, 0x1001) + count(first, 0x2001), FLOWS);
	objects_out_set(g->snapshot->objects, b->number, NULL);
	decide_again(g);
	send_flows(g, "10.6.0.9", next);
	assert_int_equal(count(next, 0x2001), FLOWS);
	objects_out_set(g->snapshot->objects, c->number, NULL);
	decide_again(g);
	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_sent, 0);
	expect_drops(g, DROP_TUNNEL_DOWN, 1);
	gateway_free(g);
}

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
	struct gateway *g = gateway_new(0, conf);
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
	struct gateway *g = gateway_new(0, conf);

	(void)state;
	gateway_expect_drop(g, &f, DROP_TTL);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

static void test_match(void **state)
{
	struct match_query q = {.proto = IPPROTO_UDP, .source_port = 1024};
	struct gateway *g = gateway_new(0, conf);
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

// Groups are kept by difference: the same routes again, and others.
static void test_reload(void **state)
{
	struct gateway *g = gateway_new(0, conf);
	uint32_t first[FLOWS], next[FLOWS];

	(void)state;
	send_flows(g, "10.5.0.9", first);
	gateway_reload(g, g->conf);
	send_flows(g, "10.5.0.9", next);
	expect_same(first, next);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_routers),
		pipeline_test(test_tunnels),
		pipeline_test(test_source),
		pipeline_test(test_own_packets),
		pipeline_test(test_match),
		pipeline_test(test_reload),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
