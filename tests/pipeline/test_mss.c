// SPDX-License-Identifier: BSD-3-Clause
// The maximum segment size that TCP announces through a tunnel. Proves that the policies that clamp
// it lower it, in both directions, and that no other octet of a packet changes.
#include <netinet/in.h>

#include "line_memory.h"
#include "peer.h"
#include "site_v6.h"

#define SYN  2
#define RST  4
#define ACK  16
#define ANY  0 // an unused port
#define TEXT 8 // octets

// A segment between host A and host B.
struct segment {
	bool v6, back; // the opposite direction: from B to A
	uint8_t flags;
	uint16_t mss; // 0: there is no option
	uint16_t sport;
};

static const uint8_t *tcp_of(const uint8_t *packet)
{
	return packet + (packet[0] >> 4 == 4 ? IP_LEN : IP6_LEN);
}

static uint16_t tcp_sum(const uint8_t *packet, uint16_t len)
{
	uint8_t pseudo[FRAME_MAX];

	if (packet[0] >> 4 == 6)
		return ip6_checksum(packet, IP6_LEN, len, IPPROTO_TCP);
	memcpy(pseudo, packet + 12, 8);
	put16(pseudo + 8, IPPROTO_TCP);
	put16(pseudo + 10, len - IP_LEN);
	memcpy(pseudo + 12, packet + IP_LEN, len - IP_LEN);
	return checksum(pseudo, len - IP_LEN + 12u);
}

static void tcp_sum_update(uint8_t *packet, uint16_t len)
{
	uint8_t *tcp = packet + (tcp_of(packet) - packet);

	put16(tcp + 16, 0);
	put16(tcp + 16, tcp_sum(packet, len));
}

// Options: no operation, maximum segment size at an odd octet, window scale.
static void mss_write(uint8_t *option, uint16_t mss)
{
	memcpy(option, (const uint8_t[]){1, 2, 4, 0, 0, 3, 3, 7}, 8);
	put16(option + 3, mss);
	if (mss == 0)
		memset(option + 1, 1, 4);
}

static struct frame segment_frame(struct segment s)
{
	const char *four[] = {"10.1.0.5", "10.2.0.5"}, *six[] = {"2001:db8:1::5", "2001:db8:2::5"};
	uint16_t ports[] = {(uint16_t)(40000 + s.sport), 80};
	struct frame f;
	uint8_t *packet, *tcp;

	if (s.v6)
		f = frame_ip6(LAN, (struct ipv6)FROM_TO(six[s.back], six[!s.back],
					   .proto = IPPROTO_TCP, .len = IP6_LEN + 28 + TEXT));
	else
		f = frame_ip(LAN, (struct ipv4)FROM_TO(four[s.back], four[!s.back],
					  .proto = IPPROTO_TCP, .len = IP_LEN + 28 + TEXT));
	packet = f.b + ETH_LEN;
	tcp = packet + (tcp_of(packet) - packet);
	memset(tcp, 0, 28);
	put16(tcp, ports[s.back]);
	put16(tcp + 2, ports[!s.back]);
	put32(tcp + 4, s.back ? 1000 : 2000);
	put32(tcp + 8, (s.flags & ACK) != 0 ? (s.back ? 2001u : 1001u) : 0);
	tcp[12] = 7 << 4;
	tcp[13] = s.flags;
	put16(tcp + 14, 65000);
	mss_write(tcp + 20, s.mss);
	tcp_sum_update(packet, frame_packet_len(&f));
	return f;
}

// The segment is sent from one host to the other, by both gateways, and arrives with this size.
static void check(struct gateway *g[2], struct segment s, uint16_t mss)
{
	struct frame in = segment_frame(s), wire, right;
	uint8_t *packet;

	wire = frame_carry(gateway_expect_sent(g[s.back], &in, WAN));
	gateway_expect_sent(g[!s.back], &wire, LAN);
	right = frame_after_hops(&in, 2);
	packet = right.b + ETH_LEN;
	mss_write(packet + (tcp_of(packet) - packet) + 20, mss);
	tcp_sum_update(packet, frame_packet_len(&right));
	assert_int_equal(g[!s.back]->sent[0].len, right.len);
	assert_memory_equal(frame_packet(&g[!s.back]->sent[0]), packet, frame_packet_len(&right));
}

// A and B with these settings of their policies.
static void gateways_new(struct gateway *g[2], enum outer outer, const char *a, const char *b)
{
	g[0] = site_v6_a(outer, (struct site){.tunnel = a});
	g[1] = site_v6_b(outer, (struct site){.tunnel = b});
}

static void gateways_free(struct gateway *g[2])
{
	gateway_free(g[0]);
	gateway_free(g[1]);
}

// The size that fits, for AES-128-GCM and a link of 1500 octets (RFC 4303 2): 1446 octets over
// IPv4, 1426 over IPv6; less 40 octets of headers, or 60.
static void test_which_policy_clamps(void **state)
{
	static const struct {
		enum outer outer;
		const char *a, *b;
		uint16_t four, six; // the result for 1460
	} rows[] = {
		{OVER_V4, "", "", 1460, 1460},
		{OVER_V4, "mss_clamp = \"auto\";", "", 1406, 1386},
		{OVER_V4, "", "mss_clamp = \"auto\";", 1406, 1386},
		{OVER_V6, "mss_clamp = \"auto\";", "", 1386, 1366},
		{OVER_V6, "", "mss_clamp = \"auto\";", 1386, 1366},
		{OVER_V4, "mss_clamp = 1000;", "", 1000, 1000},
		{OVER_V4, "mss_clamp = 1000;", "mss_clamp = 88;", 88, 88},
		{OVER_V4, "mss_clamp = 1400;", "mss_clamp = \"auto\";", 1400, 1386},
		{OVER_V4, "mss_clamp = 9560;", "mss_clamp = 1460;", 1460, 1460},
		{OVER_V4, "mss_clamp = 1459;", "", 1459, 1459},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct gateway *g[2];

		print_message("a: %s b: %s\n", rows[i].a, rows[i].b);
		gateways_new(g, rows[i].outer, rows[i].a, rows[i].b);
		for (int v6 = 0; v6 < 2; v6++) {
			uint16_t mss = v6 ? rows[i].six : rows[i].four;

			check(g, (struct segment){.v6 = v6, .flags = SYN, .mss = 1460}, mss);
			check(g, (struct segment){.v6 = v6, .flags = SYN, .mss = 1460}, mss);
			check(g,
				(struct segment){
					.v6 = v6, .back = true, .flags = SYN | ACK, .mss = 1460},
				mss);
		}
		gateways_free(g);
	}
}

// Never changed: smaller sizes, segments without the option, and segments other than SYN.
static void test_what_stays(void **state)
{
	struct gateway *g[2];

	(void)state;
	gateways_new(g, OVER_V4, "mss_clamp = 1000;", "mss_clamp = \"auto\";");
	for (int v6 = 0; v6 < 2; v6++) {
		check(g, (struct segment){.v6 = v6, .flags = SYN, .mss = 1}, 1);
		check(g, (struct segment){.v6 = v6, .flags = SYN, .mss = 1000, .sport = 1}, 1000);
		check(g, (struct segment){.v6 = v6, .flags = SYN, .mss = 0, .sport = 2}, 0);
		check(g, (struct segment){.v6 = v6, .back = true, .flags = SYN | ACK, .sport = 2},
			0);
		check(g, (struct segment){.v6 = v6, .flags = ACK, .mss = 1460, .sport = 2}, 1460);
		check(g, (struct segment){.v6 = v6, .flags = RST, .mss = 1460, .sport = 1}, 1460);
		check(g, (struct segment){.v6 = v6, .flags = SYN, .mss = 0xffff, .sport = 3}, 1000);
	}
	gateways_free(g);
}

// A learnt path MTU applies to connections that begin later.
static void test_path_mtu(void **state)
{
	struct gateway *g[2];
	struct sa_out *sa;

	(void)state;
	gateways_new(g, OVER_V4, "mss_clamp = \"auto\";", "");
	check(g, (struct segment){.flags = SYN, .mss = 1460}, 1406);
	sa = gateway_sa_out(g[0], "out");
	line_free(sa_out_path_set(sa, sa_path_resized(&sa->sa, sa_out_path(sa), 1400)));
	check(g, (struct segment){.flags = SYN, .mss = 1460}, 1306);
	check(g, (struct segment){.flags = SYN, .mss = 1460, .sport = 1}, 1306);
	check(g, (struct segment){.back = true, .flags = SYN | ACK, .mss = 1460}, 1306);
	line_free(sa_out_path_set(sa, sa_path_resized(&sa->sa, sa_out_path(sa), 0)));
	check(g, (struct segment){.back = true, .flags = SYN | ACK, .mss = 1460, .sport = 1}, 88);
	gateways_free(g);
}

// Out of one tunnel into another both policies apply: here the first only, and the second.
static void check_hub(const char *policies, uint16_t mss)
{
	struct gateway *a = site_a((struct site){.policies = policies});
	struct peer b = peer_new(a, "from-b"), d = peer_new(a, "to-c");
	struct frame syn = segment_frame((struct segment){.flags = SYN, .mss = 1460}), f;
	uint8_t text[FRAME_MAX], inner[FRAME_MAX];
	uint16_t len = frame_packet_len(&syn);

	memcpy(text, frame_packet(&syn), len);
	put32(text + 12, ip_number("10.5.0.5"));
	put32(text + 16, ip_number("10.3.0.5"));
	ip_checksum_update(text);
	tcp_sum_update(text, len);
	f = peer_seal(&b, (struct esp){.seq = 1,
				  .text = text,
				  .text_len = peer_trailer(&b, text, len, IPPROTO_IPIP)});
	assert_int_equal(peer_open(&d, gateway_expect_sent(a, &f, WAN), inner), len);
	assert_int_equal(be16(tcp_of(inner) + 23), mss);
	assert_int_equal(tcp_sum(inner, len), 0);
	peer_free(&b);
	peer_free(&d);
	gateway_free(a);
}

#define HUB(in, out)                                                                               \
	", { name = \"in\"; local = \"10.3.0.0/24\"; remote = \"10.5.0.0/24\"; action = "          \
	"\"protect\"; out = \"to-b\"; in = \"from-b\"; " in " }, { name = \"out\"; local = "       \
	"\"10.5.0.0/24\"; remote = \"10.3.0.0/24\"; action = \"protect\"; out = \"to-c\"; in = "   \
	"\"from-c\"; " out " }"

static void test_hub(void **state)
{
	(void)state;
	check_hub(HUB("", ""), 1460);
	check_hub(HUB("mss_clamp = 1001;", ""), 1001);
	check_hub(HUB("", "mss_clamp = 1002;"), 1002);
	check_hub(HUB("mss_clamp = 1003;", "mss_clamp = 1002;"), 1002);
	check_hub(HUB("mss_clamp = 1001;", "mss_clamp = 1002;"), 1001);
	check_hub(HUB("mss_clamp = \"auto\";", "mss_clamp = \"auto\";"), 1398);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_which_policy_clamps),
		pipeline_test(test_what_stays),
		pipeline_test(test_path_mtu),
		pipeline_test(test_hub),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
