// SPDX-License-Identifier: BSD-3-Clause
// Checksums recomputed after a NAT has changed addresses (RFC 3948 3.1.2), and checksums that a
// sender has left to its network card, against RFC 1071, literally.
#include <netinet/in.h>
#include <string.h>

#include <rte_ip.h>

#include "l4_checksum.h"
#include "test.h"

#define ROUNDS  20000
#define LEN_MAX 200
#define PSEUDO  40 // octets of IPv6's pseudo header; of IPv4's fewer
#define NOWHERE UINT16_MAX

static uint64_t seed = 7;

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static unsigned int sum_of(const uint8_t *p, unsigned int len)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

struct packet {
	uint8_t b[64 + LEN_MAX];
	bool v4;
	uint8_t proto;
	uint16_t off, len; // length of the payload
};

// Random octets in a packet of either family, with four octets of IPv4 options, or of IPv6 a header
// of destination options, now and then.
static struct packet packet_new(uint8_t proto, uint16_t len)
{
	struct packet p = {.v4 = random_u64(&seed) % 2 != 0, .proto = proto, .len = len};
	bool more = random_u64(&seed) % 4 == 0;

	for (unsigned int i = 0; i < sizeof(p.b); i++)
		p.b[i] = (uint8_t)random_u64(&seed);
	if (p.v4) {
		p.off = more ? 24 : 20;
		p.b[0] = (uint8_t)(0x40 | p.off / 4);
		put16(p.b + 2, p.off + len);
		put16(p.b + 6, 0x4000); // DF
		p.b[9] = proto;
	} else {
		p.off = more ? 48 : 40;
		p.b[0] = 0x60;
		put16(p.b + 4, p.off - 40u + len);
		p.b[6] = more ? IPPROTO_DSTOPTS : proto;
		memcpy(p.b + 40, (uint8_t[]){proto, 0, 1, 4, 0, 0, 0, 0}, more ? 8 : 0);
	}
	if (proto == IPPROTO_UDP && len >= 8)
		put16(p.b + p.off + 4, len);
	return p;
}

static unsigned int sum_with_pseudo_header(const struct packet *p)
{
	uint8_t all[PSEUDO + LEN_MAX] = {0};
	unsigned int at = p->v4 ? 8 : 32;

	memcpy(all, p->b + (p->v4 ? 12 : 8), at);
	if (!p->v4)
		at += 2; // lengths have 32 bits
	put16(all + at, p->v4 ? p->proto : p->len);
	put16(all + at + 2, p->v4 ? p->len : 0);
	at += 4;
	if (!p->v4) {
		put16(all + at, p->proto);
		at += 2;
	}
	memcpy(all + at, p->b + p->off, p->len);
	return sum_of(all, at + p->len);
}

static uint16_t sum_at(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return 16;
	case IPPROTO_UDP:
		return 6;
	case IPPROTO_ICMPV6:
		return 2;
	default:
		return NOWHERE;
	}
}

// The checksum is right then, and nothing else has changed.
static void check(struct packet *p, bool renewed)
{
	struct packet before = *p;
	uint8_t *sum = p->b + p->off + sum_at(p->proto);

	l4_checksum_recompute(p->b);
	if (renewed) {
		assert_int_equal(sum_with_pseudo_header(p), 0xffff);
		memcpy(before.b + (sum - p->b), sum, 2);
	}
	assert_memory_equal(p->b, before.b, sizeof(p->b));
}

static void test_right(void **state)
{
	static const struct {
		uint8_t proto, least;
	} rows[] = {{IPPROTO_TCP, 20}, {IPPROTO_UDP, 8}, {IPPROTO_ICMPV6, 8}};

	(void)state;
	for (unsigned int i = 0; i < rounds(ROUNDS); i++)
		for (size_t k = 0; k < COUNT_OF(rows); k++) {
			uint16_t len = (uint16_t)(rows[k].least + random_u64(&seed) % 100);
			struct packet p = packet_new(rows[k].proto, len);

			put16(p.b + p.off + sum_at(p.proto),
				1u + (unsigned int)(random_u64(&seed) % 0xffff));
			check(&p, p.proto != IPPROTO_ICMPV6 || !p.v4);
		}
}

// A result of 0 is sent as 0xffff in UDP, where 0 means that there is none (RFC 768), and as 0 in
// TCP.
static void test_zero(void **state)
{
	static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP};

	(void)state;
	for (unsigned int i = 0; i < 1000; i++)
		for (size_t k = 0; k < COUNT_OF(protos); k++) {
			struct packet p = packet_new(protos[k], 30);
			uint8_t *sum = p.b + p.off + sum_at(p.proto), *last = p.b + p.off + 28;

			put16(sum, 0);
			put16(last, 0);
			put16(last, 0xffff - sum_with_pseudo_header(&p));
			put16(sum, 0x1234);
			l4_checksum_recompute(p.b);
			assert_memory_equal(sum, p.proto == IPPROTO_UDP ? "\xff\xff" : "\0\0", 2);
		}
}

static void test_untouched(void **state)
{
	static const struct {
		uint8_t proto;
		uint16_t len;
	} rows[] = {{IPPROTO_TCP, 19}, {IPPROTO_UDP, 7}, {IPPROTO_ICMPV6, 7}, {IPPROTO_ICMP, 40},
		{IPPROTO_GRE, 40}, {IPPROTO_SCTP, 40}, {IPPROTO_TCP, 0}, {IPPROTO_NONE, 0}};
	struct packet p;

	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		for (size_t k = 0; k < COUNT_OF(rows); k++) {
			p = packet_new(rows[k].proto, rows[k].len);
			check(&p, false);
		}
		p = packet_new(IPPROTO_UDP, 30); // none
		put16(p.b + p.off + 6, 0);
		check(&p, false);
		p = packet_new(IPPROTO_UDP, 30); // its coverage is not given
		put16(p.b + p.off + 4, 29);
		check(&p, false);
	}
	p = packet_new(IPPROTO_TCP, 40);
	while (!p.v4)
		p = packet_new(IPPROTO_TCP, 40);
	put16(p.b + 6, 0x2000); // a fragment
	check(&p, false);
}

static void put_sum(struct packet *p, unsigned int sum)
{
	put16(p->b + p->off + sum_at(p->proto), sum);
}

// As a sender leaves it: the field has the sum of the pseudo header.
static struct packet incomplete(uint8_t proto, uint16_t len)
{
	struct packet p = packet_new(proto, len), head;

	if (p.v4) {
		put16(p.b + 10, 0);
		put16(p.b + 10, 0xffff - sum_of(p.b, p.off));
	} else {
		p.b[8] = p.b[24] = 0x20; // unicast
	}
	head = p;
	memset(head.b + head.off, 0, head.len);
	put_sum(&p, sum_with_pseudo_header(&head));
	return p;
}

static void test_complete(void **state)
{
	static const uint8_t protos[] = {IPPROTO_TCP, IPPROTO_UDP};

	(void)state;
	for (unsigned int i = 0; i < rounds(ROUNDS); i++)
		for (size_t k = 0; k < COUNT_OF(protos); k++) {
			uint16_t len = (uint16_t)(20 + random_u64(&seed) % 100);
			struct packet p = incomplete(protos[k], len), before = p;
			uint8_t *sum = p.b + p.off + sum_at(p.proto);
			bool right = sum_with_pseudo_header(&p) == 0xffff;

			assert_int_equal(l4_checksum_complete(p.b, (uint32_t)p.off + len), !right);
			assert_int_equal(sum_with_pseudo_header(&p), 0xffff);
			memcpy(before.b + (sum - p.b), sum, 2);
			assert_memory_equal(p.b, before.b, sizeof(p.b));
			before = p;
			assert_false(l4_checksum_complete(p.b, (uint32_t)p.off + len));
			assert_memory_equal(p.b, before.b, sizeof(p.b));
		}
}

static void expect_left(struct packet p, uint32_t len)
{
	struct packet before = p;

	assert_false(l4_checksum_complete(p.b, len));
	assert_memory_equal(p.b, before.b, sizeof(p.b));
}

// A wrong checksum is not an incomplete one: the receiver has to find damage.
static void test_damaged(void **state)
{
	struct packet p;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		p = incomplete(IPPROTO_TCP, 40);
		p.b[p.off + 16] ^= (uint8_t)(1 + random_u64(&seed) % 255);
		expect_left(p, p.off + 40u);
		p = incomplete(IPPROTO_UDP, 40);
		put_sum(&p, 0); // none
		expect_left(p, p.off + 40u);
		p = incomplete(IPPROTO_TCP, 40); // truncated, at any place
		expect_left(p, (uint32_t)(random_u64(&seed) % (p.off + 40u)));
		do
			p = incomplete(IPPROTO_TCP, 40);
		while (!p.v4);
		p.b[10] ^= 1; // the header's own
		expect_left(p, p.off + 40u);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
