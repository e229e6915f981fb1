// SPDX-License-Identifier: BSD-3-Clause
// Network address translation of IPv6: checksums without a header checksum, ICMPv6 with a pseudo
// header, extension headers, prefixes, fragments.
#include <netinet/in.h>

#include "datagram.h"
#include "site_v6.h"

#define CLIENT "2001:db8:1::5"
#define SERVER "2001:db8:9::7"
#define OWN    "2001:db8:f::1"

#define POLICIES                                                                                   \
	", { name = \"wire\"; local = \"2001:db8:f::1/128\"; remote = \"2001:db8:9::/48\"; "       \
	"action = \"bypass\"; }"
#define MASQUERADE                                                                                 \
	"nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = \"port\"; "            \
	"destination = \"2001:db8:9::/48\"; } );"

// Destination options: PadN.
static const uint8_t options[8] = {IPPROTO_UDP, 0, 1, 4};

static struct frame frame_of(uint16_t port, struct ipv6 ip)
{
	static const uint8_t checksum_at[] = {
		[IPPROTO_TCP] = 16, [IPPROTO_UDP] = 6, [IPPROTO_ICMPV6] = 2};
	const uint8_t proto = ip.proto != 0 ? ip.proto : IPPROTO_UDP;
	const uint16_t upper = IP6_LEN + ip.ext_len;
	uint8_t packet[FRAME_MAX];
	uint16_t len = ip6_write(packet, ip);

	if (proto == IPPROTO_ICMPV6)
		put16(packet + upper + 4, ip.sport);
	put16(packet + upper + checksum_at[proto], 0);
	put16(packet + upper + checksum_at[proto], ip6_checksum(packet, upper, len, proto));
	return frame_raw6(port, packet, len);
}

static void expect_ends(const struct frame *f, uint16_t upper, uint8_t proto, const char *src,
	uint16_t sport, const char *dst, uint16_t dport)
{
	const uint8_t *p = frame_packet(f);
	const bool icmp = proto == IPPROTO_ICMPV6;

	assert_memory_equal(p + 8, ip6_octets(src), 16);
	assert_memory_equal(p + 24, ip6_octets(dst), 16);
	assert_int_equal(be16(p + upper + (icmp ? 4 : 0)), sport);
	if (!icmp)
		assert_int_equal(be16(p + upper + 2), dport);
	assert_int_equal(ip6_checksum(p, upper, frame_packet_len(f), proto), 0);
}

static void test_masquerade(void **state)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMPV6};
	struct gateway *g =
		site_v6_a(OVER_V6, (struct site){.policies = POLICIES, .more = MASQUERADE});

	(void)state;
	for (unsigned int i = 0; i < 2 * RTE_DIM(protos); i++) { // decided, and by the decision
		const uint8_t proto = protos[i / 2];
		struct frame f =
			frame_of(LAN, (struct ipv6)FROM_TO(CLIENT, SERVER, .proto = proto,
					      .icmp_type = 128, .sport = 4000, .dport = 80));

		expect_ends(gateway_expect_sent(g, &f, WAN), IP6_LEN, proto, OWN, 4000, SERVER, 80);
		if (proto == IPPROTO_TCP)
			continue;
		f = frame_of(
			WAN, (struct ipv6)FROM_TO(SERVER, OWN, .proto = proto, .icmp_type = 129,
				     .sport = proto == IPPROTO_UDP ? 80 : 4000, .dport = 4000));
		expect_ends(gateway_expect_sent(g, &f, LAN), IP6_LEN, proto, SERVER,
			proto == IPPROTO_UDP ? 80 : 4000, CLIENT, 4000);
	}
	gateway_free(g);
}

static void test_extension_headers(void **state)
{
	struct gateway *g =
		site_v6_a(OVER_V6, (struct site){.policies = POLICIES, .more = MASQUERADE});
	const struct frame f = frame_of(LAN,
		(struct ipv6)FROM_TO(CLIENT, SERVER, .sport = 4000, .dport = 53, .ext = options,
			.ext_len = sizeof(options), .ext_proto = IPPROTO_DSTOPTS));

	(void)state;
	expect_ends(gateway_expect_sent(g, &f, WAN), IP6_LEN + sizeof(options), IPPROTO_UDP, OWN,
		4000, SERVER, 53);
	gateway_free(g);
}

// A router on the path reports the packet as it was on the wire; the client learns of its own.
static void test_packet_too_big(void **state)
{
	struct gateway *g =
		site_v6_a(OVER_V6, (struct site){.policies = POLICIES, .more = MASQUERADE});
	struct frame f =
		frame_of(LAN, (struct ipv6)FROM_TO(CLIENT, SERVER, .sport = 4000, .dport = 53));
	const struct frame sent = *gateway_expect_sent(g, &f, WAN);
	uint8_t packet[FRAME_MAX];
	struct frame error;
	const uint8_t *p, *quoted;
	uint16_t len = error6_write(
		packet, "2001:db8:9::99", OWN, 2, 0, frame_packet(&sent), frame_packet_len(&sent));

	(void)state;
	put32(packet + IP6_LEN + 4, 1280);
	put16(packet + IP6_LEN + 2, 0);
	put16(packet + IP6_LEN + 2, ip6_checksum(packet, IP6_LEN, len, IPPROTO_ICMPV6));
	error = frame_raw6(WAN, packet, len);
	p = frame_packet(gateway_expect_sent(g, &error, LAN));
	quoted = p + IP6_LEN + 8;
	assert_memory_equal(p + 8, ip6_octets("2001:db8:9::99"), 16);
	assert_memory_equal(p + 24, ip6_octets(CLIENT), 16);
	assert_int_equal(be32(p + IP6_LEN + 4), 1280);
	assert_int_equal(
		ip6_checksum(p, IP6_LEN, frame_packet_len(&g->sent[0]), IPPROTO_ICMPV6), 0);
	assert_memory_equal(quoted + 8, ip6_octets(CLIENT), 16);
	assert_int_equal(be16(quoted + IP6_LEN), 4000);
	assert_int_equal(ip6_checksum(quoted, IP6_LEN, frame_packet_len(&f), IPPROTO_UDP), 0);
	gateway_free(g);
}

// Hosts of a network that the other site has too: their prefix is exchanged, and nothing else.
static void test_netmap(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6,
		(struct site){
			.policies = ", { name = \"mapped\"; local = \"2001:db8:a::/64\"; remote = "
				    "\"2001:db8:9::/48\"; action = \"bypass\"; }",
			.more = "nat = ( { name = \"as-a\"; action = \"netmap\"; source = "
				"\"2001:db8:1::/64\"; destination = \"2001:db8:9::/48\"; to = "
				"\"2001:db8:a::/64\"; }, { name = \"back\"; action = \"netmap\"; "
				"destination = \"2001:db8:a::/64\"; to = \"2001:db8:1::/64\"; } "
				");"});
	struct frame f = frame_of(LAN, (struct ipv6)FROM_TO(CLIENT, SERVER, .proto = IPPROTO_TCP,
					       .sport = 4000, .dport = 80));

	(void)state;
	expect_ends(gateway_expect_sent(g, &f, WAN), IP6_LEN, IPPROTO_TCP, "2001:db8:a::5", 4000,
		SERVER, 80);
	f = frame_of(WAN, (struct ipv6)FROM_TO(SERVER, "2001:db8:a::5", .sport = 9, .dport = 7));
	expect_ends(gateway_expect_sent(g, &f, LAN), IP6_LEN, IPPROTO_UDP, SERVER, 9, CLIENT, 7);
	f = frame_of(LAN, (struct ipv6)FROM_TO(CLIENT, SERVER, .sport = 7, .dport = 9));
	expect_ends(gateway_expect_sent(g, &f, WAN), IP6_LEN, IPPROTO_UDP, "2001:db8:a::5", 7,
		SERVER, 9);
	gateway_free(g);
}

// Node information (RFC 4620) has no identifier that could be changed: where an echo has it, there
// is the type of the question.
static void test_node_information(void **state)
{
	struct gateway *g =
		site_v6_a(OVER_V6, (struct site){.policies = POLICIES, .more = MASQUERADE});
	const struct ipv6 query = FROM_TO(CLIENT, SERVER, .proto = IPPROTO_ICMPV6, .icmp_type = 139,
				  .sport = 3),
			  reply = FROM_TO(SERVER, OWN, .proto = IPPROTO_ICMPV6, .icmp_type = 140,
				  .sport = 3);
	struct ipv6 of_other = query;
	struct frame f = frame_of(LAN, query);

	(void)state;
	of_other.src = "2001:db8:1::6";
	expect_ends(gateway_expect_sent(g, &f, WAN), IP6_LEN, IPPROTO_ICMPV6, OWN, 3, SERVER, 0);
	f = frame_of(LAN, of_other); // whose replies would look the same
	gateway_expect_drop(g, &f, DROP_NAT_PORTS);
	f = frame_of(WAN, reply);
	expect_ends(gateway_expect_sent(g, &f, LAN), IP6_LEN, IPPROTO_ICMPV6, SERVER, 3, CLIENT, 0);
	gateway_free(g);
}

// Clients share all addresses of a prefix, of which the first is the anycast address of routers.
static void test_prefix_for_sources(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6,
		(struct site){.policies = ", { name = \"wire\"; local = \"2001:db8:a::/64\"; "
					  "remote = \"2001:db8:9::/48\"; action = \"bypass\"; }",
			.more = "nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to "
				"= "
				"\"2001:db8:a::/96\"; } );"});
	uint8_t first[16] = {0};

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		char client[32];
		struct frame f;
		const uint8_t *source;

		snprintf(client, sizeof(client), "2001:db8:1::%u", 10 + i);
		f = frame_of(LAN, (struct ipv6)FROM_TO(client, SERVER, .sport = 4000, .dport = 53));
		source = frame_packet(gateway_expect_sent(g, &f, WAN)) + 8;
		assert_memory_equal(source, ip6_octets("2001:db8:a::"), 12);
		assert_memory_not_equal(source, ip6_octets("2001:db8:a::"), 16);
		assert_memory_not_equal(source, first, 16);
		memcpy(first, source, 16);
	}
	gateway_free(g);
}

// The gateway answers for the address that a host has pinged, not for its own one.
static void test_ping_of_an_own_address(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6,
		(struct site){
			.policies = ", { name = \"mapped\"; local = \"2001:db8:a::/64\"; remote = "
				    "\"2001:db8:9::/48\"; action = \"bypass\"; }",
			.more = "nat = ( { name = \"back\"; action = \"netmap\"; destination = "
				"\"2001:db8:a::/64\"; to = \"2001:db8:1::/64\"; } );"});
	const struct frame f =
		frame_of(WAN, (struct ipv6)FROM_TO(SERVER, "2001:db8:a::1", .proto = IPPROTO_ICMPV6,
				      .icmp_type = 128, .sport = 7));

	(void)state;
	expect_ends(gateway_expect_sent(g, &f, WAN), IP6_LEN, IPPROTO_ICMPV6, "2001:db8:a::1", 7,
		SERVER, 0);
	gateway_free(g);
}

// All of the datagram in fragments of step octets of payload each; returns their number.
static unsigned int fragments(
	struct frame f[], uint16_t port, const char *src, const char *dst, uint32_t step)
{
	uint8_t packet[FRAME_MAX] = {6 << 4};
	unsigned int n = 0;

	packet[6] = IPPROTO_FRAGMENT;
	packet[7] = 64;
	memcpy(packet + 8, ip6_octets(src), 16);
	memcpy(packet + 24, ip6_octets(dst), 16);
	packet[IP6_LEN] = IPPROTO_UDP;
	for (uint32_t off = 0; off < whole.len; off += step) {
		const uint32_t len = RTE_MIN(step, whole.len - off);

		put16(packet + 4, 8u + len);
		put16(packet + IP6_LEN + 2, off | (off + len < whole.len));
		memcpy(packet + IP6_LEN + 8, whole.b + off, len);
		f[n++] = frame_raw6(port, packet, (uint16_t)(IP6_LEN + 8 + len));
	}
	return n;
}

// Policies name ends on the wire, and none those of the fragments: they are for the datagram.
static void test_fragments(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6,
		(struct site){.more = "nat = ( { name = \"as-lan\"; action = \"netmap\"; "
				      "source = \"2001:db8:5::/64\"; destination = "
				      "\"2001:db8:9::/48\"; to = \"2001:db8:1::/64\"; } );"});
	const uint16_t len = 3000;
	struct frame f[3];
	uint8_t packet[FRAME_MAX];

	(void)state;
	datagram_fill(len, 53);
	memcpy(packet + 8, ip6_octets("2001:db8:5::5"), 16);
	memcpy(packet + 24, ip6_octets(SERVER), 16);
	put16(whole.b + 6, 0);
	memcpy(packet + IP6_LEN, whole.b, len);
	put16(whole.b + 6, ip6_checksum(packet, IP6_LEN, IP6_LEN + len, IPPROTO_UDP));
	assert_int_equal(fragments(f, LAN, "2001:db8:5::5", SERVER, 1200), 3);
	gateway_pass(g, f, 3);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 3, WAN);
	for (unsigned int i = 0; i < 3; i++)
		assert_memory_equal(frame_packet(&g->sent[i]) + 8, ip6_octets(CLIENT), 16);
	collect_all(g, NULL);
	assert_int_equal(arrived.len, len);
	assert_memory_equal(arrived.b + 8, whole.b + 8, len - 8);
	memcpy(packet + 8, ip6_octets(CLIENT), 16);
	memcpy(packet + IP6_LEN, arrived.b, len);
	assert_int_equal(ip6_checksum(packet, IP6_LEN, IP6_LEN + len, IPPROTO_UDP), 0);
	gateway_free(g);
}

// A reply that no buffer holds is for an own address, but of the flow: it is forwarded. Without a
// flow, it is for the gateway, which needs it whole.
static void test_oversized_reply(void **state)
{
	struct gateway *g =
		site_v6_a(OVER_V6, (struct site){.policies = POLICIES, .more = MASQUERADE});
	static struct frame f[64];
	unsigned int n;

	(void)state;
	datagram_fill(65535, 4000);
	n = fragments(f, WAN, SERVER, OWN, 1352);
	gateway_pass(g, f, n);
	expect_drops(g, DROP_FRAME_SCATTERED, 1);
	f[n] = frame_of(LAN, (struct ipv6)FROM_TO(CLIENT, SERVER, .sport = 4000, .dport = 9));
	gateway_expect_sent(g, &f[n], WAN);
	gateway_pass(g, f, n);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, n, LAN);
	for (unsigned int i = 0; i < n; i++)
		assert_memory_equal(frame_packet(&g->sent[i]) + 24, ip6_octets(CLIENT), 16);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_masquerade),
		pipeline_test(test_extension_headers),
		pipeline_test(test_packet_too_big),
		pipeline_test(test_netmap),
		pipeline_test(test_node_information),
		pipeline_test(test_prefix_for_sources),
		pipeline_test(test_ping_of_an_own_address),
		pipeline_test(test_fragments),
		pipeline_test(test_oversized_reply),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
