// SPDX-License-Identifier: BSD-3-Clause
// IPv6 headers and extension headers: as scapy builds them, and malformed ones.
#include "addrs.h"
#include "ecn.h"
#include "ip_view.h"
#include "ipv6.h"
#include "packets.h"
#include "test.h"

#define PACKET_MAX 4096

struct packet {
	_Alignas(8) uint8_t b[PACKET_MAX];
	uint32_t len;
};

static struct rte_ipv6_hdr *ip_of(struct packet *p)
{
	return (struct rte_ipv6_hdr *)p->b;
}

// From 2001:db8:1::5 to 2001:db8:2::7; put() appends the payload.
static struct packet packet(uint8_t proto)
{
	struct packet p = {.len = 40};
	const uint8_t head[] = {0x60, 0, 0, 0, 0, 0, proto, 64, 0x20, 0x01, 0x0d, 0xb8, 0, 1};

	memcpy(p.b, head, sizeof(head));
	p.b[23] = 5;
	memcpy(p.b + 24, "\x20\x01\x0d\xb8\0\2", 6);
	p.b[39] = 7;
	return p;
}

static void put(struct packet *p, const void *octets, uint32_t len)
{
	memcpy(p->b + p->len, octets, len);
	p->len += len;
	p->b[4] = (uint8_t)((p->len - 40) >> 8);
	p->b[5] = (uint8_t)(p->len - 40);
}

static enum ipv6_fault find(struct ipv6_upper *upper, struct packet *p)
{
	assert_int_equal(ipv6_check(ip_of(p), p->len), IPV6_GOOD);
	return ipv6_upper_find(upper, ip_of(p), p->len);
}

static void test_check(void **state)
{
	struct packet p = packet(59), q;

	(void)state;
	put(&p, "12345678", 8);
	for (uint32_t len = 0; len < 48; len++)
		assert_int_equal(
			ipv6_check(ip_of(&p), len), len < 40 ? IPV6_SHORT : IPV6_TRUNCATED);
	assert_int_equal(ipv6_check(ip_of(&p), 48), IPV6_GOOD);
	assert_int_equal(ipv6_check(ip_of(&p), 60), IPV6_GOOD); // Ethernet's padding
	assert_int_equal(ipv6_len(ip_of(&p)), 48);
	for (unsigned int version = 0; version < 16; version++) {
		p.b[0] = (uint8_t)(version << 4 | 0xf);
		assert_int_equal(
			ipv6_check(ip_of(&p), 48), version == 6 ? IPV6_GOOD : IPV6_MALFORMED);
	}
	p.b[0] = 0x60;
	// ::ffff:10.1.0.5 as source, as destination
	for (unsigned int at = 8; at <= 24; at += 16) {
		q = p;
		memset(q.b + at, 0, 16);
		memcpy(q.b + at + 10, "\xff\xff\x0a\x01\0\5", 6);
		assert_int_equal(ipv6_check(ip_of(&q), 48), IPV6_ADDRESS);
		q.b[at + 9] = 1;
		assert_int_equal(ipv6_check(ip_of(&q), 48), IPV6_GOOD);
	}
	p.b[4] = p.b[5] = 0xff;
	assert_int_equal(ipv6_len(ip_of(&p)), 65575);
	assert_int_equal(ipv6_check(ip_of(&p), 65574), IPV6_TRUNCATED);
}

// Whether a packet of len octets is plain, which the general functions must confirm.
static bool is_plain(struct packet *p, uint32_t len)
{
	const uint32_t plain = ipv6_plain_len(ip_of(p), len);
	struct ipv6_upper upper;
	struct ip_layout at, right;

	if (plain == 0)
		return false;
	assert_int_equal(ipv6_check(ip_of(p), len), IPV6_GOOD);
	assert_int_equal(plain, ipv6_len(ip_of(p)));
	assert_int_equal(ipv6_upper_find(&upper, ip_of(p), plain), IPV6_GOOD);
	right = ip_layout_v6(ip_of(p), &upper);
	ip_layout_v6_plain(&at, ip_of(p));
	assert_memory_equal(&at, &right, sizeof(at));
	assert_int_equal(at.l4_off, sizeof(struct rte_ipv6_hdr));
	return true;
}

static void test_plain_protocols(void **state)
{
	(void)state;
	for (unsigned int proto = 0; proto < 256; proto++) {
		struct packet p = packet((uint8_t)proto);

		put(&p, "\x3a\0\1\2\3\4\5\6", 8);
		assert_int_equal(is_plain(&p, 48),
			proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_ESP);
	}
}

static void test_plain_lengths(void **state)
{
	struct packet p = packet(IPPROTO_UDP);

	(void)state;
	put(&p, "12345678", 8);
	for (uint32_t len = 0; len < 64; len++)
		assert_int_equal(is_plain(&p, len), len >= 48); // more is Ethernet's padding
	for (unsigned int payload = 0; payload <= UINT16_MAX; payload++) {
		p.b[4] = (uint8_t)(payload >> 8);
		p.b[5] = (uint8_t)payload;
		assert_int_equal(is_plain(&p, 48), payload >= 4 && payload <= 8);
	}
	for (unsigned int version = 0; version < 16; version++) {
		p = packet(IPPROTO_UDP);
		put(&p, "12345678", 8);
		p.b[0] = (uint8_t)(version << 4 | 0xf);
		assert_int_equal(is_plain(&p, 48), version == 6);
	}
}

// Addresses that ipv6_check() rejects, and some that it accepts.
static void test_plain_addresses(void **state)
{
	static const struct {
		const char *text;
		bool plain;
	} rows[] = {{"::", false}, {"::1", false}, {"::2", false}, {"10.1.0.5", false},
		{"::fffe:10.1.0.5", false}, {"0:0:0:1::", true}, {"1::ffff:10.1.0.5", true},
		{"fe80::1", true}, {"ff02::1", true}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (unsigned int at = 8; at <= 24; at += 16) {
			struct packet p = packet(IPPROTO_TCP);
			const struct ip_addr a = addr_of(rows[i].text);

			put(&p, "12345678", 8);
			memcpy(p.b + at, &a, sizeof(a));
			if (is_plain(&p, 48) != rows[i].plain)
				fail_msg("%s at %u", rows[i].text, at);
		}
}

static void test_host_address(void **state)
{
	static const struct {
		const char *text;
		bool host;
	} rows[] = {{"::", false}, {"::1", false}, {"::2", true}, {"0:0:0:1::1", true},
		{"100::", true}, {"fe80::1", true}, {"ff02::1", false}, {"ff05::1:3", false},
		{"feff::", true}, {"2001:db8::", true}, {"::1:0:0", true}, {"::1.0.0.0", true}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ip_addr a = addr_of(rows[i].text);

		if (ipv6_is_host_address(&a) != rows[i].host)
			fail_msg("%s", rows[i].text);
	}
}

// RFC 8200 3: version, traffic class, flow label.
static void test_tos(void **state)
{
	struct packet p = packet(59), q;

	(void)state;
	memcpy(p.b, "\x6a\xbc\xde\xf1", 4);
	assert_int_equal(ipv6_tos(ip_of(&p)), 0xab);
	for (unsigned int tos = 0; tos < 256; tos++) {
		const uint8_t right[] = {
			(uint8_t)(0x60 | tos >> 4), (uint8_t)(tos << 4 | 0xc), 0xde, 0xf1};

		q = p;
		ipv6_tos_set(ip_of(&q), (uint8_t)tos);
		assert_memory_equal(q.b, right, 4);
		assert_memory_equal(q.b + 4, p.b + 4, 36);
		assert_int_equal(ipv6_tos(ip_of(&q)), tos);
	}
	p.b[1] = 0x3f;
	assert_int_equal(ipv6_tos(ip_of(&p)) & ECN_MASK, ECN_CE);
}

static unsigned long number(const char *word)
{
	return strtoul(word, NULL, 10);
}

static void check_chain(char *const word[])
{
	struct octets o = packet_octets(word[5]);
	const struct rte_ipv6_hdr *ip = (const void *)o.b;
	struct ipv6_upper upper;
	struct ip_layout at;
	struct ip_view view;

	assert_int_equal(ipv6_check(ip, o.len), IPV6_GOOD);
	if (ipv6_upper_find(&upper, ip, o.len) != IPV6_GOOD)
		fail_msg("%s", word[0]);
	assert_int_equal(upper.proto, number(word[1]));
	assert_int_equal(upper.off, number(word[2]));
	assert_int_equal(upper.fragment, number(word[3]));
	assert_int_equal(upper.later, number(word[4]));
	assert_int_equal(upper.frag_off != 0,
		strstr(word[0], "fragment") != NULL || strcmp(word[0], "all") == 0);
	// However short it is, nothing beyond its end is read.
	for (uint32_t len = 40; len < o.len; len++) {
		struct octets truncated = {malloc(len), len};
		struct ipv6_upper u;

		memcpy(truncated.b, o.b, len);
		assert_int_equal(ipv6_upper_find(&u, (const void *)truncated.b, len),
			len < upper.off ? IPV6_CHAIN_TRUNCATED : IPV6_GOOD);
		free(truncated.b);
	}
	assert_true(ip_layout_read(&at, ip));
	view = ip_view_of(ip, &at);
	assert_int_equal(view.len, o.len);
	assert_int_equal(view.proto, upper.proto);
	assert_int_equal(view.l4_off, upper.off);
	assert_int_equal(view.tos, 0xb9);
	assert_int_equal(view.ttl, 64);
	assert_int_equal(view.has_ports,
		!upper.fragment && (upper.proto == IPPROTO_UDP || upper.proto == IPPROTO_TCP));
	assert_false(view.has_icmp_type);
	if (view.has_ports)
		assert_int_equal(view.src_port, RTE_BE16(1000));
	if (view.has_ports)
		assert_int_equal(
			view.dst_port, upper.proto == IPPROTO_UDP ? RTE_BE16(53) : RTE_BE16(80));
	free(o.b);
}

static void test_chains(void **state)
{
	(void)state;
	assert_in_range(packets_each("chain", check_chain), 15, 100);
}

// The error, and the offset it points to (RFC 8200 4.1, 4.4; RFC 4443 3.4).
static void test_faults(void **state)
{
	static const uint8_t next_hop[8] = {0, 0, 1, 4}, next_frag[8] = {44, 0, 1, 4};
	static const uint8_t frag[8] = {44}, udp[8] = {0, 1, 0, 2, 0, 8};
	struct ipv6_upper upper;
	struct packet p;

	(void)state;
	p = packet(60); // options, hop-by-hop
	put(&p, next_hop, 8);
	put(&p, next_hop, 8);
	assert_int_equal(find(&upper, &p), IPV6_CHAIN_ORDER);
	assert_int_equal(upper.fault_off, 40);
	p = packet(0); // hop-by-hop twice
	put(&p, next_hop, 8);
	put(&p, next_hop, 8);
	assert_int_equal(find(&upper, &p), IPV6_CHAIN_ORDER);
	p = packet(44); // a fragment of a fragment
	put(&p, frag, 8);
	put(&p, udp, 8);
	assert_int_equal(find(&upper, &p), IPV6_CHAIN_ORDER);
	p = packet(60); // nine
	for (unsigned int i = 0; i < 9; i++)
		put(&p, "\x3c\0\1\4\0\0\0", 8);
	assert_int_equal(find(&upper, &p), IPV6_CHAIN_LONG);
	assert_int_equal(upper.fault_off, 40 + 7 * 8);
	p = packet(60); // 512 octets, 520
	p.len = 40 + 512;
	put(&p, udp, 8);
	p.b[40] = 17;
	p.b[41] = 63;
	assert_int_equal(find(&upper, &p), IPV6_GOOD);
	assert_int_equal(upper.off, 40 + 512);
	p.b[41] = 64;
	assert_int_equal(find(&upper, &p), IPV6_CHAIN_LONG);
	p = packet(60); // one octet more than there is
	put(&p, "\x11\1\1\4\0\0\0\0\1\4\0\0\0\0\0", 15);
	assert_int_equal(find(&upper, &p), IPV6_CHAIN_TRUNCATED);
	assert_int_equal(upper.fault_off, 6);
	p = packet(60); // a jumbogram
	assert_int_equal(find(&upper, &p), IPV6_CHAIN_TRUNCATED);
	p = packet(0);
	put(&p, next_frag, 8);
	put(&p, frag, 8);
	p.b[50] = 0xff; // last fragment's offset: stops there
	p.b[51] = 0xf8;
	assert_int_equal(find(&upper, &p), IPV6_GOOD);
	assert_int_equal(upper.proto, 44);
	assert_true(upper.later);
}

// RFC 5095 3, RFC 8200 4.4: by segments left, whatever the type.
static void test_routing(void **state)
{
	struct ipv6_upper upper;

	(void)state;
	for (unsigned int type = 0; type < 256; type++)
		for (unsigned int left = 0; left < 4; left++) {
			struct packet p = packet(43);
			uint8_t routing[24] = {17, 2, (uint8_t)type, (uint8_t)left};

			put(&p, routing, 24);
			put(&p, "\0\1\0\2\0\x8\0\0", 8);
			assert_int_equal(
				find(&upper, &p), left == 0 ? IPV6_GOOD : IPV6_SOURCE_ROUTED);
			if (left > 0)
				assert_int_equal(upper.fault_off, 42);
		}
}

// RFC 8200 4.2
static void test_options(void **state)
{
	static const struct {
		const char *options; // 6 octets
		enum ipv6_options what;
		uint16_t fault_off;
	} rows[] = {
		{"\0\0\0\0\0\0", IPV6_OPTIONS_PASS, 0},
		{"\1\4\7\7\7\7", IPV6_OPTIONS_PASS, 0},
		{"\5\2\0\0\1\0", IPV6_OPTIONS_PASS, 0}, // router alert: action bits 00
		{"\x1e\4\0\0\0\0", IPV6_OPTIONS_PASS, 0},
		{"\x5e\4\0\0\0\0", IPV6_OPTIONS_DROP, 42},
		{"\0\0\x9e\2\0\0", IPV6_OPTIONS_TELL, 44},
		{"\xde\0\0\0\0\0", IPV6_OPTIONS_TELL_IF_UNICAST, 42},
		{"\xc2\4\0\1\0\0", IPV6_OPTIONS_TELL_IF_UNICAST, 42}, // jumbo payload
		{"\1\5\0\0\0\0", IPV6_OPTIONS_DROP, 0},               // beyond the header
		{"\0\0\0\0\0\1", IPV6_OPTIONS_DROP, 0},
	};
	struct ipv6_upper upper;
	uint16_t off;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (unsigned int proto = 0; proto <= 60; proto += 60) {
			struct packet p = packet((uint8_t)proto);

			put(&p, "\x11\0", 2);
			put(&p, rows[i].options, 6);
			put(&p, "\0\1\0\2\0\x8\0\0", 8);
			assert_int_equal(find(&upper, &p), IPV6_GOOD);
			off = 0;
			if (ipv6_options_check(&off, ip_of(&p), upper.off) != rows[i].what)
				fail_msg("row %zu", i);
			if (rows[i].fault_off != 0)
				assert_int_equal(off, rows[i].fault_off);
		}

	struct packet p = packet(44); // another header that resembles options

	put(&p, "\x3c\xde\0\0\xde\xde\xde\xde", 8);
	put(&p, "\x2b\0\1\4\0\0\0\0", 8);
	put(&p, "\x3c\0\xde\0\xde\xde\xde\xde", 8);
	put(&p, "\x3b\0\1\4\0\0\0\0", 8);
	assert_int_equal(find(&upper, &p), IPV6_GOOD);
	assert_int_equal(ipv6_options_check(&off, ip_of(&p), upper.off), IPV6_OPTIONS_PASS);
	p.b[66] = 0x5e;
	assert_int_equal(ipv6_options_check(&off, ip_of(&p), upper.off), IPV6_OPTIONS_DROP);
}

// RFC 8504 5.3: no header needs more than 7 octets of padding between options.
static void test_padding(void **state)
{
	static const struct {
		const char *options; // 14 octets
		enum ipv6_options what;
	} rows[] = {
		{"\x1e\5\1\1\1\1\1\0\0\0\0\0\0\0", IPV6_OPTIONS_PASS},
		{"\0\0\0\0\0\0\0\x1e\5\1\1\1\1\1", IPV6_OPTIONS_PASS},
		{"\0\0\0\x1e\1\0\1\5\0\0\0\0\0\x1e", IPV6_OPTIONS_DROP}, // the last is truncated
		{"\x1e\4\1\1\1\1\0\0\0\0\0\0\0\0", IPV6_OPTIONS_DROP},
		{"\x1e\4\1\1\1\1\1\6\0\0\0\0\0\0", IPV6_OPTIONS_DROP},
		{"\x1e\4\1\1\1\1\0\0\1\4\0\0\0\0", IPV6_OPTIONS_DROP},
	};
	struct ipv6_upper upper;
	uint16_t off;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct packet p = packet(60);

		put(&p, "\x11\1", 2);
		put(&p, rows[i].options, 14);
		put(&p, "\0\1\0\2\0\x8\0\0", 8);
		assert_int_equal(find(&upper, &p), IPV6_GOOD);
		if (ipv6_options_check(&off, ip_of(&p), upper.off) != rows[i].what)
			fail_msg("row %zu", i);
	}
}

// Nor more than 8 options.
static void test_many_options(void **state)
{
	static const char options[] =
		"\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\1\4\0\0\0\0";
	struct packet p = packet(60);
	struct ipv6_upper upper;
	uint16_t off;

	(void)state;
	put(&p, "\x11\2", 2);
	put(&p, options, 22);
	put(&p, "\0\1\0\2\0\x8\0\0", 8);
	assert_int_equal(find(&upper, &p), IPV6_GOOD);
	assert_int_equal(ipv6_options_check(&off, ip_of(&p), upper.off), IPV6_OPTIONS_PASS);
	memcpy(p.b + 42 + 16, "\x1e\0\1\2\0\0", 6);
	assert_int_equal(ipv6_options_check(&off, ip_of(&p), upper.off), IPV6_OPTIONS_DROP);
}

// Random octets: every offset found is inside them.
static void test_random(void **state)
{
	static const uint8_t protos[] = {0, 43, 44, 60, 6, 50, 51, 58, 59, 17};
	uint64_t seed = 11;
	unsigned long good = 0;

	(void)state;
	for (unsigned long i = 0; i < rounds(200000); i++) {
		uint32_t len = 40 + random_below(&seed, 120);
		struct octets o = {malloc(len), len};
		struct ipv6_upper upper;
		uint16_t off;

		for (uint32_t k = 0; k < len; k++)
			o.b[k] = (uint8_t)(random_below(&seed, 3) == 0 ? random_u64(&seed) : 0);
		o.b[6] = protos[random_below(&seed, COUNT_OF(protos))];
		for (uint32_t k = 40; k < len; k += 8)
			o.b[k] = protos[random_below(&seed, COUNT_OF(protos))];
		if (ipv6_upper_find(&upper, (const void *)o.b, len) == IPV6_GOOD) {
			assert_in_range(upper.off, 40, len);
			assert_int_equal(upper.off % 8, 0);
			ipv6_options_check(&off, (const void *)o.b, upper.off);
			good++;
		} else {
			assert_in_range(upper.fault_off, 6, len - 1);
		}
		free(o.b);
	}
	assert_in_range(good, rounds(200000) / 10, rounds(200000) - rounds(200000) / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_plain_protocols),
		cmocka_unit_test(test_plain_lengths),
		cmocka_unit_test(test_plain_addresses),
		cmocka_unit_test(test_host_address),
		cmocka_unit_test(test_tos),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_routing),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_many_options),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
