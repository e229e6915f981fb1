// SPDX-License-Identifier: BSD-3-Clause
// ESP from outside (RFC 4303 3.4, RFC 4301 5.2). Proves that each packet with one mistake is
// dropped for its reason. Those with a right ICV are sealed with the right key, as a faulty peer
// would send them.
#include <netinet/in.h>

#include "peer.h"
#include "site.h"

static const struct ipv4 good = {.src = "10.2.0.5", .dst = "10.1.0.5"};

struct tunnel {
	struct gateway *g;
	struct peer b;
	uint32_t seq;
};

static struct tunnel tunnel_new(struct site s)
{
	struct tunnel t = {.g = site_a(s)};

	t.b = peer_new(t.g, "from-b");
	return t;
}

static void tunnel_free(struct tunnel *t)
{
	peer_free(&t->b);
	gateway_free(t->g);
}

static const struct sa_per_worker *sa_counters(const struct tunnel *t)
{
	return gateway_sa_counted(t->g, "from-b");
}

// The inner packet is sent to the LAN unchanged but for its time to live.
static void expect_inner(const struct gateway *g, const uint8_t *inner, uint16_t len)
{
	uint8_t right[FRAME_MAX];

	memcpy(right, inner, len);
	right[8]--;
	ip_checksum_update(right);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(frame_packet_len(&g->sent[0]), len);
	assert_memory_equal(frame_packet(&g->sent[0]), right, len);
}

static void test_good(void **state)
{
	static const uint16_t lens[] = {20, 21, 22, 23, 24, 28, 60, 576, 1438};
	struct tunnel t = tunnel_new((struct site){0});
	uint64_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lens); i++) {
		struct ipv4 ip = good;
		uint8_t inner[FRAME_MAX];

		ip.len = lens[i];
		ip.proto = lens[i] < 28 ? 253 : 0; // too short for UDP
		ip_write(inner, ip);

		struct frame f = peer_seal_ip(&t.b, ++t.seq, ip);

		gateway_pass(t.g, &f, 1);
		expect_inner(t.g, inner, ip.len);
		bytes += lens[i];
	}
	assert_int_equal(sa_counters(&t)->packets, COUNT_OF(lens));
	assert_int_equal(sa_counters(&t)->bytes, bytes);
	tunnel_free(&t);
}

// Inner packets that the policy of this SA does not admit, or that cannot be forwarded.
static void test_selector(void **state)
{
	static const struct {
		const char *name;
		struct ipv4 ip;
		enum drop drop;
	} rows[] = {
		{"right", FROM_TO("10.2.0.5", "10.1.0.5"), DROP_NONE},
		{"from C's network", FROM_TO("10.3.0.5", "10.1.0.5"), DROP_SELECTOR},
		{"to the DMZ", FROM_TO("10.2.0.5", "10.7.0.5"), DROP_SELECTOR},
		{"from our own network", FROM_TO("10.1.0.6", "10.1.0.5"), DROP_SELECTOR},
		{"from the gateway", FROM_TO("192.0.2.2", "192.0.2.1"), DROP_SELECTOR},
		{"backwards", FROM_TO("10.1.0.5", "10.2.0.5"), DROP_SELECTOR},
		{"what may bypass", FROM_TO("198.51.100.9", "10.1.0.5"), DROP_SELECTOR},
		{"what is discarded", FROM_TO("203.0.113.9", "10.1.0.5"), DROP_SELECTOR},
		{"no policy", FROM_TO("192.88.99.9", "10.1.0.5"), DROP_SELECTOR},
		{"right port", FROM_TO("10.4.0.9", "10.1.0.5", .sport = 5010), DROP_NONE},
		{"wrong port", FROM_TO("10.4.0.9", "10.1.0.5", .sport = 5011), DROP_SELECTOR},
		{"wrong protocol", FROM_TO("10.4.0.9", "10.1.0.5", .sport = 5010, .proto = 6),
			DROP_SELECTOR},
		{"to broadcast", FROM_TO("10.2.0.5", "10.1.0.255"), DROP_NOT_UNICAST},
		{"to the network", FROM_TO("10.2.0.5", "10.1.0.0"), DROP_NOT_UNICAST},
	};
	struct tunnel t = tunnel_new((struct site){0});
	unsigned int selector = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = peer_seal_ip(&t.b, ++t.seq, rows[i].ip);

		print_message("%s\n", rows[i].name);
		gateway_pass(t.g, &f, 1);
		expect_drops(t.g, rows[i].drop, rows[i].drop != DROP_NONE ? 1 : 0);
		assert_int_equal(t.g->n_sent, rows[i].drop != DROP_NONE ? 0 : 1);
		selector += rows[i].drop == DROP_SELECTOR;
	}
	assert_int_equal(sa_dropped(sa_counters(&t), DROP_SELECTOR), selector);
	tunnel_free(&t);
}

// A policy for all addresses still admits no invalid source address.
static void test_invalid_source_is_never_admitted(void **state)
{
	static const char *const sources[] = {
		"127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255"};
	static const char text[] =
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" "
		"]; },"
		"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );"
		"neighbours = ( { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; } );"
		"sas = ( { name = \"to-b\"; direction = \"out\"; spi = \"0x1001\"; local = "
		"\"192.0.2.1\";"
		"    remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"
		"    auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; },"
		"  { name = \"from-b\"; direction = \"in\"; spi = \"0x1002\"; local = "
		"\"192.0.2.1\";"
		"    remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"
		"    auth_key = \"100102030405060708090a0b0c0d0e0f10111213\"; } );"
		"policies = ( { name = \"all\"; action = \"protect\"; out = \"to-b\"; in = "
		"\"from-b\"; } );";
	struct tunnel t = {.g = gateway_new(0, text)};
	struct frame f;

	(void)state;
	t.b = peer_new(t.g, "from-b");
	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		f = peer_seal_ip(
			&t.b, ++t.seq, (struct ipv4){.src = sources[i], .dst = "10.1.0.5"});
		gateway_expect_drop(t.g, &f, DROP_IP_SOURCE);
	}
	f = peer_seal_ip(&t.b, ++t.seq, (struct ipv4){.src = "1.2.3.4", .dst = "10.1.0.5"});
	gateway_expect_sent(t.g, &f, LAN);
	tunnel_free(&t);
}

// The plaintext, octet by octet. "#" stands for a good inner packet of 60 octets.
static void test_plaintext_octet_by_octet(void **state)
{
	static const struct {
		const char *name;
		enum drop drop;
		uint8_t inner; // octets of the inner packet that are present
		uint8_t len;   // length of the rest
		uint8_t rest[12];
	} rows[] = {
		{"right", DROP_NONE, 60, 4, {1, 2, 2, 4}},
		{"no padding", DROP_NEXT_HEADER, 60, 4, {0, 0, 0, 0}},
		{"padding 0, 0", DROP_PADDING, 60, 4, {0, 0, 2, 4}},
		{"padding 2, 1", DROP_PADDING, 60, 4, {2, 1, 2, 4}},
		{"padding 1, 1", DROP_PADDING, 60, 4, {1, 1, 2, 4}},
		{"padding 0, 1", DROP_PADDING, 60, 4, {0, 1, 2, 4}},
		{"more padding than needed", DROP_NONE, 60, 8, {1, 2, 3, 4, 5, 6, 6, 4}},
		{"longer than the packet", DROP_PADDING, 60, 4, {1, 2, 63, 4}},
		{"as long as can be", DROP_PADDING, 60, 4, {1, 2, 255, 4}},
		{"over the inner packet", DROP_PADDING, 60, 4, {1, 2, 3, 4}},
		{"dummy", DROP_DUMMY, 60, 4, {1, 2, 2, 59}},
		{"small dummy", DROP_DUMMY, 0, 4, {1, 2, 2, 59}},
		{"dummy with wrong padding", DROP_PADDING, 0, 4, {9, 9, 2, 59}},
		{"TCP, as in transport mode", DROP_NEXT_HEADER, 60, 4, {1, 2, 2, 6}},
		{"IPv6, but it is IPv4", DROP_INNER_HEADER, 60, 4, {1, 2, 2, 41}},
		{"ESP", DROP_NEXT_HEADER, 60, 4, {1, 2, 2, 50}},
		{"next header 255", DROP_NEXT_HEADER, 60, 4, {1, 2, 2, 255}},
		{"nothing", DROP_INNER_HEADER, 0, 4, {1, 2, 2, 4}},
		{"4 octets", DROP_INNER_HEADER, 4, 4, {1, 2, 2, 4}},
		{"half a header", DROP_INNER_HEADER, 16, 4, {1, 2, 2, 4}},
		{"truncated", DROP_INNER_HEADER, 56, 4, {1, 2, 2, 4}},
		{"TFC padding", DROP_NONE, 60, 12, {7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 2, 4}},
	};
	struct tunnel t = tunnel_new((struct site){.cipher = "null", .auth = "hmac-sha1-96"});
	uint8_t inner[FRAME_MAX];

	(void)state;
	ip_write(inner, good);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t text[FRAME_MAX];
		uint64_t before = sa_dropped(sa_counters(&t), rows[i].drop);

		print_message("%s\n", rows[i].name);
		memcpy(text, inner, rows[i].inner);
		memcpy(text + rows[i].inner, rows[i].rest, rows[i].len);

		struct frame f =
			peer_seal(&t.b, (struct esp){
						.seq = ++t.seq,
						.text = text,
						.text_len = (uint16_t)(rows[i].inner + rows[i].len),
					});

		gateway_pass(t.g, &f, 1);
		expect_drops(t.g, rows[i].drop, rows[i].drop != DROP_NONE ? 1 : 0);
		if (rows[i].drop == DROP_NONE)
			expect_inner(t.g, inner, 60);
		else
			assert_int_equal(sa_dropped(sa_counters(&t), rows[i].drop), before + 1);
	}
	tunnel_free(&t);
}

// A pad length that reaches back over the text, where the sequence number 1 would pass for padding.
static void test_padding_over_header(void **state)
{
	static const uint8_t text[] = {2, 3, 3, 4};
	struct tunnel t = tunnel_new((struct site){.cipher = "null", .auth = "hmac-sha1-96"});
	struct frame f = peer_seal(&t.b, (struct esp){.seq = 1, .text = text, .text_len = 4});

	(void)state;
	gateway_expect_drop(t.g, &f, DROP_PADDING);
	tunnel_free(&t);
}

// Inner headers: two octets changed, the checksum corrected or not.
static void test_inner_header(void **state)
{
	static const struct {
		const char *name;
		uint8_t at;
		uint16_t value;
		bool right_sum;
	} rows[] = {
		{"version 6", 0, 0x6500, true},
		{"version 0", 0, 0x0500, true},
		{"header of 16 octets", 0, 0x4400, true},
		{"header of 0 octets", 0, 0x4000, true},
		{"packet longer than the text", 2, 61, true},
		{"packet as long as can be", 2, 65535, true},
		{"packet shorter than its header", 2, 19, true},
		{"packet of 0 octets", 2, 0, true},
		{"checksum", 10, 0x1234, false},
	};
	struct tunnel t = tunnel_new((struct site){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t text[FRAME_MAX];
		uint16_t len = ip_write(text, good);

		print_message("%s\n", rows[i].name);
		put16(text + rows[i].at, rows[i].value);
		if (rows[i].right_sum)
			ip_checksum_update(text);
		len = peer_trailer(&t.b, text, len, IPPROTO_IPIP);

		struct frame f = peer_seal(
			&t.b, (struct esp){.seq = ++t.seq, .text = text, .text_len = len});

		gateway_expect_drop(t.g, &f, DROP_INNER_HEADER);
	}
	assert_int_equal(sa_dropped(sa_counters(&t), DROP_INNER_HEADER), COUNT_OF(rows));
	tunnel_free(&t);
}

// RFC 6040 4.2: the result of the marks of both headers.
static void test_ecn_of_both_headers(void **state)
{
	enum { NOT_ECT, ECT_1, ECT_0, CE, DROPPED };
	static const uint8_t right[4][4] = {
		[NOT_ECT] = {NOT_ECT, NOT_ECT, NOT_ECT, DROPPED},
		[ECT_1] = {ECT_1, ECT_1, ECT_1, CE},
		[ECT_0] = {ECT_0, ECT_1, ECT_0, CE},
		[CE] = {CE, CE, CE, CE},
	};
	struct tunnel t = tunnel_new((struct site){0});

	(void)state;
	for (uint8_t inner = 0; inner < 4; inner++)
		for (uint8_t outer = 0; outer < 4; outer++) {
			uint8_t text[FRAME_MAX], expected[FRAME_MAX];
			struct ipv4 ip = good;

			ip.tos = (uint8_t)(0xb8 | inner); // the DSCP of the inner header stays
			ip_write(text, ip);
			ip.tos = (uint8_t)(0xb8 | right[inner][outer]);
			ip_write(expected, ip);

			struct frame f = peer_seal(&t.b,
				(struct esp){.seq = ++t.seq,
					.text = text,
					.text_len = peer_trailer(&t.b, text, 60, IPPROTO_IPIP),
					.tos = (uint8_t)(0x28 | outer)});

			if (right[inner][outer] == DROPPED) {
				gateway_expect_drop(t.g, &f, DROP_ECN);
				continue;
			}
			gateway_pass(t.g, &f, 1);
			expect_inner(t.g, expected, 60);
		}
	assert_int_equal(sa_dropped(sa_counters(&t), DROP_ECN), 1);
	tunnel_free(&t);
}

static void test_find_sa(void **state)
{
	static const struct {
		const char *name;
		uint32_t spi;
		const char *dst;
		enum drop drop;
	} rows[] = {
		{"right", 0, NULL, DROP_NONE},
		{"unknown SPI", 0x1003, NULL, DROP_NO_SA},
		{"reserved SPI", 0x01, NULL, DROP_NO_SA},
		{"SPI backwards", 0x02100000, NULL, DROP_NO_SA},
		{"of an outbound SA", 0x1001, NULL, DROP_NO_SA},
		{"of another inbound SA", 0x2002, NULL, DROP_AUTH},
		{"to another own address", 0, "10.1.0.1", DROP_NO_SA},
		{"to another gateway", 0, "192.0.2.77", DROP_NO_POLICY},
	};
	struct tunnel t =
		tunnel_new((struct site){.cipher = "aes-256-cbc", .auth = "hmac-sha2-256-128"});
	uint8_t text[FRAME_MAX];
	uint16_t len = ip_write(text, good);

	(void)state;
	len = peer_trailer(&t.b, text, len, IPPROTO_IPIP);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f = peer_seal(&t.b, (struct esp){.seq = ++t.seq,
							 .text = text,
							 .text_len = len,
							 .spi = rows[i].spi,
							 .dst = rows[i].dst});

		print_message("%s\n", rows[i].name);
		gateway_pass(t.g, &f, 1);
		expect_drops(t.g, rows[i].drop, rows[i].drop != DROP_NONE ? 1 : 0);
		assert_int_equal(t.g->n_sent, rows[i].drop != DROP_NONE ? 0 : 1);
	}
	tunnel_free(&t);
}

// Every length of the ESP packet, with a right outer header: none is opened.
static void test_short_esp_is_not_opened(void **state)
{
	struct tunnel t =
		tunnel_new((struct site){.cipher = "aes-128-cbc", .auth = "hmac-sha1-96"});
	struct frame whole = peer_seal_ip(&t.b, 1, good);
	uint16_t around = IP_LEN + 8 + 16 + 12;

	(void)state;
	for (uint16_t len = IP_LEN; len < frame_packet_len(&whole); len++) {
		struct frame f = whole;
		bool blocks = len > around && (len - around) % 16 == 0;

		f.len = (uint16_t)(ETH_LEN + len);
		put16(f.b + ETH_LEN + 2, len);
		ip_checksum_update(f.b + ETH_LEN);
		if (len < IP_LEN + 8)
			gateway_expect_drop(t.g, &f, DROP_FRAME_SHORT);
		else
			gateway_expect_drop(t.g, &f, blocks ? DROP_AUTH : DROP_ESP_SHORT);
	}
	gateway_expect_sent(t.g, &whole, LAN);
	tunnel_free(&t);
}

// Any wrong bit in the ESP packet is detected, for every kind of algorithm, and has no effect.
static void test_every_bit(void **state)
{
	static const char *const algs[][2] = {{"null", "hmac-sha1-96"},
		{"aes-128-cbc", "hmac-sha1-96"}, {"aes-256-cbc", "hmac-sha2-256-128"},
		{"aes-128-gcm", "none"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(algs); i++) {
		struct tunnel t =
			tunnel_new((struct site){.cipher = algs[i][0], .auth = algs[i][1]});
		struct frame whole = peer_seal_ip(&t.b, 100, good);

		for (unsigned int bit = 0; bit < (frame_packet_len(&whole) - IP_LEN) * 8u; bit++) {
			struct frame f = whole;

			f.b[ETH_LEN + IP_LEN + bit / 8] ^= (uint8_t)(1 << bit % 8);
			gateway_expect_drop(t.g, &f, bit < 32 ? DROP_NO_SA : DROP_AUTH);
		}
		gateway_expect_sent(t.g, &whole, LAN); // the window has not moved
		tunnel_free(&t);
	}
}

static void test_outer_options(void **state)
{
	struct tunnel t = tunnel_new((struct site){0});
	uint8_t text[FRAME_MAX], inner[FRAME_MAX];
	uint16_t len = ip_write(text, good);

	(void)state;
	ip_write(inner, good);
	len = peer_trailer(&t.b, text, len, IPPROTO_IPIP);
	for (uint8_t options = 0; options <= 40; options += 4) {
		struct frame f = peer_seal(&t.b,
			(struct esp){
				.seq = ++t.seq, .text = text, .text_len = len, .options = options});

		gateway_pass(t.g, &f, 1);
		expect_inner(t.g, inner, 60);
	}
	tunnel_free(&t);
}

// ESP for the gateway may be received from the protected side as well.
static void test_from_inside(void **state)
{
	struct tunnel t = tunnel_new((struct site){0});
	struct frame f = peer_seal_ip(&t.b, 1, good);

	(void)state;
	f.port = LAN;
	memcpy(f.b, mac_of_port(LAN), 6);
	gateway_expect_sent(t.g, &f, LAN);
	tunnel_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_good),
		pipeline_test(test_selector),
		pipeline_test(test_invalid_source_is_never_admitted),
		pipeline_test(test_plaintext_octet_by_octet),
		pipeline_test(test_padding_over_header),
		pipeline_test(test_inner_header),
		pipeline_test(test_ecn_of_both_headers),
		pipeline_test(test_find_sa),
		pipeline_test(test_short_esp_is_not_opened),
		pipeline_test(test_every_bit),
		pipeline_test(test_outer_options),
		pipeline_test(test_from_inside),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
