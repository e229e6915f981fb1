// SPDX-License-Identifier: BSD-3-Clause
// Rewritten packets: their checksums against RFC 1071, literally, and that nothing else has
// changed.
#include <netinet/in.h>

#include <rte_ip.h>

#include "icmp.h"
#include "ip_translate.h"
#include "test.h"

#define ROUNDS  40000
#define LEN_MAX 120

static uint64_t seed = 3022;

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static unsigned int get16(const uint8_t *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

static bool is_icmp(uint8_t proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

static uint32_t sum_of(const uint8_t *p, unsigned int len)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	return sum;
}

static unsigned int fold(uint32_t sum)
{
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

struct packet {
	uint8_t b[64 + LEN_MAX];
	bool v4;
	uint8_t proto;
	unsigned int off, len; // of the upper layer
};

// -1: none
static int checksum_off(const struct packet *p)
{
	switch (p->proto) {
	case IPPROTO_TCP:
		return 16;
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE:
	case IPPROTO_DCCP:
		return 6;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return 2;
	default:
		return -1;
	}
}

// Of the upper layer with its pseudo header.
static uint32_t upper_sum(const struct packet *p)
{
	uint32_t sum = sum_of(p->b + p->off, p->len);

	if (p->v4 && p->proto == IPPROTO_ICMP)
		return sum;
	return sum + sum_of(p->b + (p->v4 ? 12 : 8), p->v4 ? 8 : 32) + p->proto + p->len;
}

static void checksums_set(struct packet *p)
{
	int off = checksum_off(p);

	if (p->v4) {
		put16(p->b + 10, 0);
		put16(p->b + 10, fold(sum_of(p->b, p->off)) ^ 0xffff);
	}
	if (off < 0)
		return;
	put16(p->b + p->off + off, 0);
	put16(p->b + p->off + off, fold(upper_sum(p)) ^ 0xffff);
	if (p->proto == IPPROTO_UDP && get16(p->b + p->off + off) == 0)
		put16(p->b + p->off + off, 0xffff);
}

static void check_checksums(const struct packet *p)
{
	if (p->v4)
		assert_int_equal(fold(sum_of(p->b, p->off)), 0xffff);
	if (checksum_off(p) >= 0)
		assert_int_equal(fold(upper_sum(p)), 0xffff);
}

static struct packet packet_new(void)
{
	static const uint8_t v4[] = {IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE, IPPROTO_DCCP,
		IPPROTO_ICMP, IPPROTO_GRE, IPPROTO_SCTP};
	struct packet p = {
		.v4 = random_below(&seed, 2) != 0, .len = 24 + random_below(&seed, LEN_MAX - 24)};
	bool more = random_below(&seed, 4) == 0;

	for (unsigned int i = 0; i < sizeof(p.b); i++)
		p.b[i] = (uint8_t)random_u64(&seed);
	p.proto = v4[random_below(&seed, COUNT_OF(v4))];
	if (!p.v4 && p.proto == IPPROTO_ICMP)
		p.proto = IPPROTO_ICMPV6;
	if (p.v4) {
		p.off = more ? 24 : 20;
		p.b[0] = (uint8_t)(0x40 | p.off / 4);
		put16(p.b + 2, p.off + p.len);
		put16(p.b + 6, 0x4000); // DF
		p.b[9] = p.proto;
	} else {
		p.off = more ? 48 : 40;
		p.b[0] = 0x60;
		put16(p.b + 4, p.off - 40 + p.len);
		p.b[6] = more ? IPPROTO_DSTOPTS : p.proto;
		memcpy(p.b + 40, (uint8_t[]){p.proto, 0, 1, 4, 0, 0, 0, 0}, more ? 8 : 0);
	}
	if (is_icmp(p.proto))
		p.b[p.off] = (uint8_t)(p.v4 ? 8 : 128);
	if (p.proto == IPPROTO_TCP)
		p.b[p.off + 12] = 0x50;
	checksums_set(&p);
	return p;
}

static struct ip_addr addr_new(bool v4)
{
	struct ip_addr a;

	for (unsigned int i = 0; i < 16; i++)
		a.b[i] = (uint8_t)random_u64(&seed);
	return v4 ? ip_addr_from_v4((rte_be32_t)random_u64(&seed)) : a;
}

static struct ip_ends ends_new(bool v4)
{
	struct ip_ends e = {addr_new(v4), addr_new(v4), (rte_be16_t)random_u64(&seed),
		(rte_be16_t)random_u64(&seed)};

	return e;
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP;
}

static struct ip_ends ends_of(const struct packet *p)
{
	struct ip_ends e = {.src = ip_src(p->b, p->v4), .dst = ip_dst(p->b, p->v4)};

	memcpy(&e.src_port, p->b + p->off + (is_icmp(p->proto) ? 4 : 0), 2);
	memcpy(&e.dst_port, p->b + p->off + 2, 2);
	return e;
}

static void check_ends(const struct packet *p, const struct ip_ends *to)
{
	const struct ip_ends e = ends_of(p);

	assert_true(ip_addr_equal(&e.src, &to->src));
	assert_true(ip_addr_equal(&e.dst, &to->dst));
	if (has_ports(p->proto) || is_icmp(p->proto))
		assert_int_equal(e.src_port, to->src_port);
	if (has_ports(p->proto))
		assert_int_equal(e.dst_port, to->dst_port);
}

static void translate(struct packet *p, const struct ip_ends *to)
{
	struct ip_layout at;

	assert_true(ip_layout_read(&at, p->b));
	assert_int_equal(at.l4_off, p->off);
	ip_translate(p->b, &at, to);
	assert_memory_equal(at.l4, p->b + p->off, sizeof(at.l4));
}

static void test_there_and_back(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct packet p = packet_new();
		const struct packet before = p;
		const struct ip_ends from = ends_of(&p), to = ends_new(p.v4);

		translate(&p, &to);
		check_checksums(&p);
		check_ends(&p, &to);
		translate(&p, &from);
		check_checksums(&p);
		if (p.v4) // both are zero in one's complement
			put16(p.b + 10, get16(before.b + 10));
		if (checksum_off(&p) >= 0)
			memcpy(p.b + p.off + checksum_off(&p), before.b + p.off + checksum_off(&p),
				2);
		assert_memory_equal(p.b, before.b, sizeof(p.b));
	}
}

static void test_udp_without_checksum(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct packet p = packet_new();
		const struct ip_ends to = ends_new(p.v4);

		if (p.proto != IPPROTO_UDP)
			continue;
		put16(p.b + p.off + 6, 0);
		translate(&p, &to);
		assert_int_equal(get16(p.b + p.off + 6), 0);
	}
}

// Of protocols without a minimum: the octets after the packet stay.
static void test_shorter_than_a_checksum(void **state)
{
	static const uint8_t protos[] = {IPPROTO_UDPLITE, IPPROTO_DCCP};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(protos); i++) {
		struct packet p = packet_new(), before;
		const struct ip_ends to = ends_new(true);

		while (!p.v4 || p.proto != protos[i])
			p = packet_new();
		p.len = 4;
		put16(p.b + 2, p.off + p.len);
		before = p;
		translate(&p, &to);
		assert_memory_equal(p.b + p.off, before.b + before.off, sizeof(p.b) - p.off);
	}
}

// To the other family ICMP is a protocol without a format: none of its octets changes, nor any
// after the packet.
static void test_icmp_of_the_other_family(void **state)
{
	(void)state;
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		struct packet p = packet_new(), before;
		const struct ip_ends to = ends_new(v4 != 0);
		struct ip_layout at;

		while (p.v4 != (v4 != 0) || !is_icmp(p.proto) || p.off != (v4 != 0 ? 20 : 40))
			p = packet_new();
		p.b[v4 != 0 ? 9 : 6] = p.proto = v4 != 0 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
		p.len = 0;
		put16(p.b + (v4 != 0 ? 2 : 4), v4 != 0 ? p.off : 0);
		before = p;
		assert_true(ip_layout_read(&at, p.b));
		ip_translate(p.b, &at, &to);
		assert_memory_equal(p.b + p.off, before.b + before.off, sizeof(p.b) - p.off);
	}
}

static void test_udp_lite_checksum_of_zero(void **state)
{
	struct packet p = packet_new();
	struct ip_ends to;

	(void)state;
	while (p.proto != IPPROTO_UDPLITE || !p.v4)
		p = packet_new();
	to = ends_of(&p);
	for (unsigned int host = 0; host < 65536; host++) {
		to.src = ip_addr_from_v4((rte_be32_t)(host << 16 | 10));
		translate(&p, &to);
		assert_int_not_equal(get16(p.b + p.off + 6), 0);
	}
}

// A sum that becomes 0 is sent as 65535 (RFC 768).
static void test_udp_checksum_of_zero(void **state)
{
	struct packet p = packet_new();
	struct ip_ends to;

	(void)state;
	while (p.proto != IPPROTO_UDP || !p.v4)
		p = packet_new();
	to = ends_of(&p);
	for (unsigned int port = 0; port < 65536; port++) {
		put16((uint8_t *)&to.src_port, port);
		translate(&p, &to);
		assert_int_not_equal(get16(p.b + p.off + 6), 0);
		check_checksums(&p);
	}
}

static void test_wrong_checksum_stays_wrong(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct packet p = packet_new();
		const struct ip_ends to = ends_new(p.v4);
		uint8_t *at = p.b + p.off + checksum_off(&p);

		if (checksum_off(&p) < 0)
			continue;
		put16(at, get16(at) ^ 0x0100);
		if (get16(at) == 0) // of UDP that is none
			continue;
		translate(&p, &to);
		assert_int_not_equal(fold(upper_sum(&p)), 0xffff);
	}
}

// An error about the packet, which quotes at least 8 octets of its upper layer.
static struct packet error_about(const struct packet *about)
{
	struct packet p = {.v4 = about->v4,
		.proto = about->v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6,
		.off = about->v4 ? 20 : 40};
	unsigned int room = sizeof(p.b) - p.off - 8,
		     quoted = about->off + 8 + random_below(&seed, about->len - 8);

	quoted = (quoted < room ? quoted : room) & ~1u; // no checksum is cut in halves
	p.len = 8 + quoted;
	memcpy(p.b, about->b, p.off);
	p.b[0] = p.v4 ? 0x45 : 0x60;
	put16(p.b + (p.v4 ? 2 : 4), p.v4 ? p.off + p.len : p.len);
	p.b[p.v4 ? 9 : 6] = p.proto;
	memcpy(p.b + (p.v4 ? 12 : 8), &(rte_be32_t){RTE_BE32(0x0a0b0c0d)}, 4);
	memcpy(p.b + p.off, (uint8_t[]){p.v4 ? 3 : 1, 0, 0, 0, 0, 0, 0, 0}, 8);
	memcpy(p.b + p.off + 8, about->b, quoted);
	checksums_set(&p);
	return p;
}

static void test_errors(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct packet about = packet_new(), error = error_about(&about), whole;
		const struct ip_ends quoted = ends_new(about.v4);
		const struct ip_addr src = addr_new(about.v4), *to = &quoted.src;
		struct ip_layout at;
		struct ip_addr a;

		assert_true(ip_layout_read(&at, error.b));
		ip_translate_error(error.b, &at, &src, &quoted);
		check_checksums(&error);
		a = ip_src(error.b, error.v4);
		assert_true(ip_addr_equal(&a, &src));
		a = ip_dst(error.b, error.v4);
		assert_true(ip_addr_equal(&a, to));
		// The quote is the translated packet.
		whole = about;
		translate(&whole, &quoted);
		assert_memory_equal(error.b + error.off + 8, whole.b, error.len - 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_udp_without_checksum),
		cmocka_unit_test(test_udp_checksum_of_zero),
		cmocka_unit_test(test_shorter_than_a_checksum),
		cmocka_unit_test(test_icmp_of_the_other_family),
		cmocka_unit_test(test_udp_lite_checksum_of_zero),
		cmocka_unit_test(test_wrong_checksum_stays_wrong),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
