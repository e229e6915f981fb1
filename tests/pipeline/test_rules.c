// SPDX-License-Identifier: BSD-3-Clause
// The firewall: effects of configured rules on packets that policy admits.
#include <netinet/in.h>

#include "build_parts.h"
#include "peer.h"
#include "site.h"

#define CONF_MAX 8192

// The configuration of gateway A with rules.
static void conf_with(char text[2 * CONF_MAX], const char *rules)
{
	site_a_conf(text, CONF_MAX, (struct site){0});
	snprintf(text + strlen(text), CONF_MAX, "%s\n", rules);
}

static struct gateway *gateway_with(const char *rules)
{
	char text[2 * CONF_MAX];

	conf_with(text, rules);
	return gateway_new(0, text);
}

static const struct ipv4 to_b = FROM_TO("10.1.0.5", "10.2.0.5", .sport = 1000, .dport = 53);
static const struct ipv4 from_b = FROM_TO("10.2.0.5", "10.1.0.5", .sport = 53, .dport = 1000);
static const struct ipv4 outside = FROM_TO("10.1.0.5", "198.51.100.9", .sport = 1, .dport = 80);

// Look-ups that the rule has decided.
static uint64_t rule_lookups(const struct gateway *g, const char *rule)
{
	return gateway_rule_decided(g, rule).asked;
}

// Every packet is counted, also those after the first of their flow.
static void check_decided(struct decided d, uint64_t packets, uint64_t octets)
{
	assert_int_equal(d.packets, packets);
	assert_int_equal(d.octets, octets);
}

// The first rule that matches decides, and counts.
static void test_order(void **state)
{
	struct gateway *g = gateway_with(
		"rules = (\n"
		"  { name = \"dns\"; action = \"accept\"; proto = \"udp\"; destination_port = "
		"\"53\"; "
		"destination = \"10.2.0.0/24\"; },\n"
		"  { name = \"no\"; action = \"drop\"; destination = \"10.2.0.0/24\"; },\n"
		"  { name = \"dmz\"; action = \"drop\"; in = \"lan\"; out = \"dmz\"; },\n"
		"  { name = \"tunnel\"; action = \"drop\"; tunnel = \"c\"; }\n"
		");");
	struct ipv4 other = to_b;
	struct frame dns = frame_ip(LAN, to_b), web = frame_ip(LAN, outside);
	struct frame dmz = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5"));
	struct frame c = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.0.5"));
	struct peer peer_c = peer_new(g, "from-c");
	struct frame from_c =
		peer_seal_ip(&peer_c, 1, (struct ipv4)FROM_TO("10.3.0.5", "10.1.0.5"));

	(void)state;
	other.dport = 54;
	for (unsigned int i = 0; i < 3; i++)
		gateway_expect_sent(g, &dns, WAN);
	assert_int_equal(rule_lookups(g, "dns"), 1); // the others use the cached decision
	check_decided(gateway_rule_decided(g, "dns"), 3, 3u * (dns.len - ETH_LEN));
	check_decided(gateway_policy_decided(g, "b"), 3, 3u * (dns.len - ETH_LEN));
	for (unsigned int i = 1; i <= 3; i++) {
		struct frame f = frame_ip(LAN, other);

		gateway_expect_drop(g, &f, DROP_RULE_DROP);
		assert_int_equal(g->n_sent, 0);
		assert_int_equal(rule_lookups(g, "no"), i);
	}
	gateway_expect_drop(g, &dmz, DROP_RULE_DROP);
	assert_int_equal(rule_lookups(g, "dmz"), 1);
	gateway_expect_drop(g, &c, DROP_RULE_DROP);
	gateway_expect_drop(g, &from_c, DROP_RULE_DROP);
	assert_int_equal(rule_lookups(g, "tunnel"), 2);
	gateway_expect_sent(g, &web, WAN);
	assert_int_equal(rule_lookups(g, BUILD_RULE_DEFAULT), 1);
	assert_int_equal(flow_count(g->flows), 2);
	expect_no_event(g);
	peer_free(&peer_c);
	gateway_free(g);
}

static void test_reject(void **state)
{
	struct gateway *g = gateway_with("default_action = \"reject\";");
	struct ipv4 tcp = outside;
	struct frame udp = frame_ip(LAN, outside), syn;
	const uint8_t *ip, *rst, *sent;
	uint8_t sum[12 + 20] = {0};

	(void)state;
	gateway_expect_drop(g, &udp, DROP_RULE_REJECT);
	expect_all_sent(g, 1, LAN);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
		(struct icmp_error){3, 13, 0}, "10.1.0.1", "10.1.0.5", &udp);

	tcp.proto = IPPROTO_TCP;
	syn = frame_ip(LAN, tcp); // with 20 octets of text
	sent = frame_packet(&syn) + IP_LEN;
	gateway_expect_drop(g, &syn, DROP_RULE_REJECT);
	expect_all_sent(g, 1, LAN);
	ip = frame_packet(&g->sent[0]);
	rst = ip + IP_LEN;
	assert_int_equal(frame_packet_len(&g->sent[0]), 40);
	assert_int_equal(checksum(ip, IP_LEN), 0);
	assert_int_equal(ip[9], IPPROTO_TCP);
	assert_int_equal(be32(ip + 12), ip_number("198.51.100.9"));
	assert_int_equal(be32(ip + 16), ip_number("10.1.0.5"));
	assert_int_equal(be16(rst), 80);
	assert_int_equal(be16(rst + 2), 1);
	assert_int_equal(be32(rst + 4), 0);
	assert_int_equal(be32(rst + 8), be32(sent + 4) + 21);
	assert_int_equal(be16(rst + 12), 0x5014); // RST, ACK
	memcpy(sum, ip + 12, 8);
	sum[9] = IPPROTO_TCP;
	sum[11] = 20;
	memcpy(sum + 12, rst, 20);
	assert_int_equal(checksum(sum, sizeof(sum)), 0);
	assert_int_equal(flow_count(g->flows), 0);
	gateway_free(g);
}

#define NEW_FROM_INSIDE                                                                            \
	"default_action = \"drop\";\n"                                                             \
	"rules = ( { name = \"new\"; action = \"accept\"; state = [ \"new\" ]; in = \"lan\"; } );"

// Hosts inside may open connections; replies are accepted, new ones from outside are not.
static void test_answers_follow(void **state)
{
	struct gateway *g = gateway_with(NEW_FROM_INSIDE);
	struct peer b = peer_new(g, "from-b");
	struct frame q = frame_ip(LAN, to_b), a = peer_seal_ip(&b, 1, from_b);
	struct ipv4 other = from_b;
	struct frame f;

	(void)state;
	gateway_expect_drop(g, &a, DROP_RULE_DROP);
	gateway_expect_sent(g, &q, WAN);
	for (uint32_t seq = 2; seq < 5; seq++) {
		a = peer_seal_ip(&b, seq, from_b);
		gateway_expect_sent(g, &a, LAN);
		gateway_expect_sent(g, &q, WAN);
	}
	other.dport = 1001;
	f = peer_seal_ip(&b, 5, other);
	gateway_expect_drop(g, &f, DROP_RULE_DROP);
	peer_free(&b);
	gateway_free(g);
}

// Once the rules have changed, a connection with replies is an established one, others are new.
static void test_established(void **state)
{
	struct frame q = frame_ip(LAN, to_b), other = frame_ip(LAN, outside);
	struct gateway *g = gateway_with("");
	struct peer b = peer_new(g, "from-b");
	struct frame a = peer_seal_ip(&b, 1, from_b);
	char text[2 * CONF_MAX];
	struct conf *conf;

	(void)state;
	gateway_expect_sent(g, &q, WAN);
	gateway_expect_sent(g, &a, LAN);
	gateway_expect_sent(g, &other, WAN); // no reply
	conf_with(text, "default_action = \"drop\";\n"
			"rules = ( { name = \"old\"; action = \"accept\"; state = [ "
			"\"established\" ]; } );");
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	gateway_reload(g, conf);
	gateway_expect_sent(g, &q, WAN);
	assert_int_equal(rule_lookups(g, "old"), 1);
	gateway_expect_drop(g, &other, DROP_RULE_DROP);
	conf_free(conf);
	peer_free(&b);
	gateway_free(g);
}

// "Port unreachable" about a request, from its destination.
static struct frame unreachable(const struct peer *b, uint32_t seq, const struct frame *about)
{
	uint8_t text[FRAME_MAX], *icmp = text + IP_LEN;
	uint16_t len = ip_write(text,
		(struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .proto = IPPROTO_ICMP, .len = 56));

	memset(icmp, 0, 8);
	icmp[0] = icmp[1] = 3;
	memcpy(icmp + 8, frame_packet(about), 28);
	put16(icmp + 2, checksum(icmp, 36));
	len = peer_trailer(b, text, len, IPPROTO_IPIP);
	return peer_seal(b, (struct esp){.seq = seq, .text = text, .text_len = len});
}

static void test_related(void **state)
{
	static const struct {
		const char *rules;
		enum drop drop;
	} rows[] = {
		{"rules = ( { name = \"r\"; action = \"drop\"; state = [ \"related\" ]; } );",
			DROP_RULE_DROP},
		{"default_action = \"drop\"; rules = ("
		 " { name = \"new\"; action = \"accept\"; state = [ \"new\" ]; in = \"lan\"; },"
		 " { name = \"r\"; action = \"accept\"; state = [ \"related\" ]; } );",
			DROP_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct gateway *g = gateway_with(rows[i].rules);
		struct peer b = peer_new(g, "from-b");
		struct frame q = frame_ip(LAN, to_b), e = unreachable(&b, 1, &q);

		gateway_expect_drop(g, &e, DROP_ICMP_UNRELATED);
		gateway_expect_sent(g, &q, WAN);
		e = unreachable(&b, 2, &q);
		if (rows[i].drop == DROP_NONE)
			gateway_expect_sent(g, &e, LAN);
		else
			gateway_expect_drop(g, &e, rows[i].drop);
		// The same when the flow has been answered, and has decisions for both directions.
		q = peer_seal_ip(&b, 3, from_b);
		gateway_expect_sent(g, &q, LAN);
		q = frame_ip(LAN, to_b);
		e = unreachable(&b, 4, &q);
		if (rows[i].drop == DROP_NONE)
			gateway_expect_sent(g, &e, LAN);
		else
			gateway_expect_drop(g, &e, rows[i].drop);
		peer_free(&b);
		gateway_free(g);
	}
}

// Both directions of a flow count on its policy and its rule, in bursts that others share.
static void test_every_packet_counts(void **state)
{
	static struct frame in[6];
	struct gateway *g = gateway_with(NEW_FROM_INSIDE);
	struct peer b = peer_new(g, "from-b");
	const unsigned int octets = frame_ip(LAN, to_b).len - ETH_LEN;

	(void)state;
	gateway_expect_sent(g, &(struct frame[]){frame_ip(LAN, to_b)}[0], WAN);
	for (uint32_t burst = 0; burst < 3; burst++) {
		for (uint32_t i = 0; i < COUNT_OF(in); i++)
			in[i] = i % 3 == 1 ? peer_seal_ip(&b, burst * 10 + i + 1, from_b)
					   : frame_ip(LAN, to_b);
		gateway_pass(g, in, COUNT_OF(in));
		expect_drops(g, DROP_NONE, 0);
	}
	check_decided(gateway_policy_decided(g, "b"), 19, 19u * octets);
	check_decided(gateway_rule_decided(g, "new"), 19, 19u * octets);
	peer_free(&b);
	gateway_free(g);
}

// Accepted: logged once for the connection. Dropped: each packet.
static void test_accepted_logs_once_dropped_each_time(void **state)
{
	struct gateway *g =
		gateway_with("rules = (\n"
			     "  { name = \"dns\"; action = \"accept\"; proto = \"udp\"; tunnel = "
			     "\"b\"; log = true; },\n"
			     "  { name = \"no\"; action = \"drop\"; out = \"wan\"; log = true; }\n"
			     ");");
	struct frame q = frame_ip(LAN, to_b), no = frame_ip(LAN, outside);

	(void)state;
	gateway_expect_sent(g, &q, WAN);
	expect_event(g, EVENT_RULE, LAN, "10.1.0.5");
	gateway_expect_sent(g, &q, WAN);
	expect_no_event(g);
	for (unsigned int i = 0; i < 2; i++) {
		gateway_expect_drop(g, &no, DROP_RULE_DROP);
		expect_event(g, EVENT_RULE, LAN, "10.1.0.5");
		expect_no_event(g);
	}
	gateway_free(g);
}

// Packets that no rule matches are logged if default_log is set.
static void test_default_log(void **state)
{
	struct gateway *g = gateway_with("default_action = \"drop\"; default_log = true;");
	struct frame f = frame_ip(LAN, outside);

	(void)state;
	gateway_expect_drop(g, &f, DROP_RULE_DROP);
	expect_event(g, EVENT_RULE, LAN, "10.1.0.5");
	expect_no_event(g);
	gateway_free(g);
	g = gateway_with("default_action = \"drop\";");
	gateway_expect_drop(g, &f, DROP_RULE_DROP);
	expect_no_event(g);
	gateway_free(g);
}

// A segment of a connection between the client inside and B's server.
static uint16_t segment_write(
	uint8_t *out, bool from_server, uint16_t flags, uint32_t seq, uint32_t ack)
{
	struct ipv4 ip = from_server ? from_b : to_b;
	uint16_t len;

	ip.proto = IPPROTO_TCP;
	ip.len = 40;
	len = ip_write(out, ip);
	put32(out + IP_LEN + 4, seq);
	put32(out + IP_LEN + 8, ack);
	put16(out + IP_LEN + 12, 0x5000u | flags);
	put16(out + IP_LEN + 14, 8192);
	return len;
}

// A closed connection does not admit a new one from outside.
static void test_reopened_from_outside(void **state)
{
	struct gateway *g = gateway_with(NEW_FROM_INSIDE);
	struct peer b = peer_new(g, "from-b");
	uint8_t text[FRAME_MAX];
	uint16_t len = segment_write(text, false, 0x02, 1000, 0);
	struct frame f = frame_raw(LAN, text, len);

	(void)state;
	gateway_expect_sent(g, &f, WAN);
	len = segment_write(text, true, 0x12, 5000, 1001);
	len = peer_trailer(&b, text, len, IPPROTO_IPIP);
	f = peer_seal(&b, (struct esp){.seq = 1, .text = text, .text_len = len});
	gateway_expect_sent(g, &f, LAN);
	len = segment_write(text, false, 0x04, 1001, 0); // RST
	f = frame_raw(LAN, text, len);
	gateway_expect_sent(g, &f, WAN);
	len = segment_write(text, true, 0x02, 900000, 0);
	len = peer_trailer(&b, text, len, IPPROTO_IPIP);
	f = peer_seal(&b, (struct esp){.seq = 2, .text = text, .text_len = len});
	gateway_expect_drop(g, &f, DROP_RULE_DROP);
	peer_free(&b);
	gateway_free(g);
}

// A packet of a known connection that is out of its window meets the rules about invalid packets
// with the tunnel that it would be sent through.
static void test_invalid_has_tunnel(void **state)
{
	static const struct {
		const char *rule;
		enum drop drop;
	} rows[] = {
		{"rules = ( { name = \"odd\"; action = \"accept\"; state = [ \"invalid\" ]; "
		 "tunnel = \"b\"; } );",
			DROP_NONE},
		{"rules = ( { name = \"odd\"; action = \"accept\"; state = [ \"invalid\" ]; "
		 "tunnel = \"c\"; } );",
			DROP_TCP_WINDOW},
	};
	uint8_t text[FRAME_MAX];
	uint16_t len;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct gateway *g = gateway_with(rows[i].rule);
		struct peer b = peer_new(g, "from-b");
		struct frame f;

		len = segment_write(text, false, 0x02, 1000, 0);
		f = frame_raw(LAN, text, len);
		gateway_expect_sent(g, &f, WAN);
		len = segment_write(text, true, 0x12, 5000, 1001);
		len = peer_trailer(&b, text, len, IPPROTO_IPIP);
		f = peer_seal(&b, (struct esp){.seq = 1, .text = text, .text_len = len});
		gateway_expect_sent(g, &f, LAN);
		len = segment_write(text, false, 0x10, 1001, 5001);
		f = frame_raw(LAN, text, len);
		gateway_expect_sent(g, &f, WAN);
		len = segment_write(text, false, 0x10, 900000, 5001);
		f = frame_raw(LAN, text, len);
		if (rows[i].drop == DROP_NONE)
			gateway_expect_sent(g, &f, WAN);
		else
			gateway_expect_drop(g, &f, rows[i].drop);
		assert_int_equal(rule_lookups(g, "odd"), rows[i].drop == DROP_NONE);
		assert_int_equal(flow_count(g->flows), 1);
		peer_free(&b);
		gateway_free(g);
	}
}

// The request decides, also about its reply after a change of the rules; a reply that is the first
// packet has its own type and code.
static void test_icmp(void **state)
{
	static const struct {
		const char *comment, *src, *dst;
		uint16_t port;
		uint8_t type, code;
		enum drop drop;
	} rows[] = {
		{"request", "10.1.0.5", "198.51.100.9", LAN, 8, 0, DROP_NONE},
		{"its answer", "198.51.100.9", "10.1.0.5", WAN, 0, 0, DROP_NONE},
		{"another code", "10.1.0.5", "198.51.100.9", LAN, 8, 1, DROP_RULE_DROP},
		{"timestamp", "10.1.0.5", "198.51.100.9", LAN, 13, 3, DROP_NONE},
		{"its answer", "198.51.100.9", "10.1.0.5", WAN, 14, 3, DROP_NONE},
		{"code beyond the range", "10.1.0.5", "198.51.100.9", LAN, 13, 4, DROP_RULE_DROP},
		{"first of types", "10.1.0.5", "198.51.100.9", LAN, 40, 7, DROP_NONE},
		{"last of types", "10.1.0.5", "198.51.100.9", LAN, 42, 7, DROP_NONE},
		{"type behind them", "10.1.0.5", "198.51.100.9", LAN, 43, 0, DROP_RULE_DROP},
		{"request from outside", "198.51.100.9", "10.1.0.5", WAN, 8, 0, DROP_RULE_DROP},
	};
	struct gateway *g = gateway_with(
		"default_action = \"drop\";\n"
		"rules = (\n"
		"  { name = \"ping\"; action = \"accept\"; proto = \"icmp\"; icmp = \"8/0\"; "
		"in = \"lan\"; },\n"
		"  { name = \"time\"; action = \"accept\"; proto = \"icmp\"; icmp = \"13/0-3\"; "
		"in = \"lan\"; },\n"
		"  { name = \"many\"; action = \"accept\"; proto = \"icmp\"; icmp = \"40-42\"; }\n"
		");");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = frame_ip(rows[i].port, (struct ipv4){.src = rows[i].src,
								.dst = rows[i].dst,
								.proto = IPPROTO_ICMP,
								.icmp_type = rows[i].type,
								.icmp_code = rows[i].code});

		put16(f.b + ETH_LEN + IP_LEN + 4, 7); // one identifier: replies belong to requests
		print_message("%s\n", rows[i].comment);
		gateway_generation_next(g);
		if (rows[i].drop != DROP_NONE)
			gateway_expect_drop(g, &f, rows[i].drop);
		else
			gateway_expect_sent(g, &f, rows[i].port == LAN ? WAN : LAN);
	}
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_order),
		pipeline_test(test_every_packet_counts),
		pipeline_test(test_reject),
		pipeline_test(test_answers_follow),
		pipeline_test(test_established),
		pipeline_test(test_related),
		pipeline_test(test_accepted_logs_once_dropped_each_time),
		pipeline_test(test_default_log),
		pipeline_test(test_reopened_from_outside),
		pipeline_test(test_invalid_has_tunnel),
		pipeline_test(test_icmp),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
