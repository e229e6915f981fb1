// SPDX-License-Identifier: BSD-3-Clause
// TCP segments cut as network cards do it: every part has the octets, headers and checksums that
// RFC 9293, RFC 3168 and IP require, by a model that knows octets alone; of IPv4, it is also the
// part that librte_gso makes. A packet whose headers lie is not cut.
#include <rte_ethdev.h>
#include <rte_gso.h>
#include <rte_tcp.h>

#include "eal.h"
#include "tcp_segment.h"
#include "test.h"

#define ROUNDS    3000
#define HEAD_MAX  200
#define PAYLOAD   20000
#define PARTS_MAX 512

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, CWR = 128 };

static uint64_t seed = 11;
static struct rte_mempool *mbufs, *indirect;

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
	return be16(p) << 16 | be16(p + 2);
}

static uint32_t sum_of(const uint8_t *p, uint32_t len, uint32_t sum)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

struct packet {
	uint8_t b[HEAD_MAX + PAYLOAD];
	bool v4;
	uint16_t tcp, head; // offsets of the TCP header and of the payload
	uint32_t len;       // of the packet
};

// Random octets with valid headers: options of either, and headers of destination options.
static void packet_make(struct packet *p, bool v4, uint32_t payload)
{
	const uint16_t ip_options = (uint16_t)(4 * random_below(&seed, 4)),
		       tcp_options = (uint16_t)(4 * random_below(&seed, 11));

	for (size_t i = 0; i < sizeof(p->b); i++)
		p->b[i] = (uint8_t)random_u64(&seed);
	p->v4 = v4;
	p->tcp = (uint16_t)(v4 ? 20 + ip_options : 40 + 2 * ip_options);
	p->head = (uint16_t)(p->tcp + 20 + tcp_options);
	p->len = p->head + payload;
	if (v4) {
		p->b[0] = (uint8_t)(0x40 | p->tcp / 4);
		put16(p->b + 2, p->len);
		put16(p->b + 6, random_below(&seed, 2) * 0x4000);
		p->b[9] = IPPROTO_TCP;
	} else {
		p->b[0] = 0x60;
		put16(p->b + 4, p->len - 40);
		p->b[6] = IPPROTO_TCP;
		for (uint16_t at = 40; at < p->tcp; at += 8) {
			p->b[6] = IPPROTO_DSTOPTS;
			memcpy(p->b + at, (uint8_t[]){IPPROTO_DSTOPTS, 0, 1, 4, 0, 0, 0, 0}, 8);
		}
		if (p->tcp > 40)
			p->b[p->tcp - 8] = IPPROTO_TCP;
	}
	if (v4) {
		put16(p->b + 10, 0);
		put16(p->b + 10, 0xffff - sum_of(p->b, p->tcp, 0));
	}
	p->b[p->tcp + 12] = (uint8_t)((20 + tcp_options) / 4 << 4);
	p->b[p->tcp + 13] &= (uint8_t) ~(SYN | RST);
}

static struct ip_layout layout_of(const struct packet *p)
{
	struct ip_layout at;

	assert_true(ip_layout_read(&at, p->b));
	return at;
}

// The sum of octets as the machine reads them, two at a time.
static uint32_t memory_sum(const uint8_t *b, uint32_t len)
{
	return rte_cpu_to_be_16((uint16_t)sum_of(b, len, 0));
}

// The part with this number, as its caller makes it.
static uint32_t part_make(uint8_t *out, const struct packet *p, uint32_t size, uint32_t number)
{
	const struct ip_layout at = layout_of(p);
	const uint32_t off = number * size, left = p->len - p->head - off;
	const uint32_t len = left < size ? left : size;

	memcpy(out, p->b, p->head);
	memcpy(out + p->head, p->b + p->head + off, len);
	tcp_segment_finish(out, &at,
		&(struct tcp_part){.len = p->head + len,
			.sum = tcp_segment_sum(p->b, &at, p->head) + memory_sum(out + p->head, len),
			.off = off,
			.number = number,
			.last = len == left});
	return p->head + len;
}

static void expect_checksums(const struct packet *p, const uint8_t *part, uint32_t len)
{
	const uint32_t upper = len - p->tcp;
	uint32_t sum = IPPROTO_TCP + upper;

	if (p->v4)
		assert_int_equal(sum_of(part, p->tcp, 0), 0xffff);
	sum = sum_of(part + (p->v4 ? 12 : 8), p->v4 ? 8 : 32, sum);
	assert_int_equal(sum_of(part + p->tcp, upper, sum), 0xffff);
}

// The headers differ from those of the packet as they have to, and not otherwise.
static void expect_headers(
	const struct packet *p, const uint8_t *part, uint32_t len, uint32_t number, uint32_t off)
{
	uint8_t want[HEAD_MAX];
	bool last = off + len - p->head == p->len - p->head;

	memcpy(want, p->b, p->head);
	put16(want + (p->v4 ? 2 : 4), p->v4 ? len : len - 40);
	if (p->v4) {
		put16(want + 4, be16(p->b + 4) + number);
		memcpy(want + 10, part + 10, 2);
	}
	put16(want + p->tcp + 4, (be32(p->b + p->tcp + 4) + off) >> 16);
	put16(want + p->tcp + 6, be32(p->b + p->tcp + 4) + off);
	if (number > 0)
		want[p->tcp + 13] &= (uint8_t)~CWR;
	if (!last)
		want[p->tcp + 13] &= (uint8_t) ~(FIN | PSH);
	memcpy(want + p->tcp + 16, part + p->tcp + 16, 2);
	assert_memory_equal(part, want, p->head);
}

static void test_parts(void **state)
{
	static struct packet p;
	static uint8_t part[HEAD_MAX + PAYLOAD];

	(void)state;
	for (unsigned long i = 0; i < rounds(ROUNDS); i++) {
		uint32_t size = 1 + random_below(&seed, 3000), off = 0;
		uint32_t payload = 1 + random_below(&seed, size * 6 < PAYLOAD ? size * 6 : PAYLOAD);

		packet_make(&p, i % 2 == 0, payload);
		for (uint32_t n = 0; off < payload; n++) {
			uint32_t len = part_make(part, &p, size, n);

			expect_headers(&p, part, len, n, off);
			expect_checksums(&p, part, len);
			assert_memory_equal(part + p.head, p.b + p.head + off, len - p.head);
			off += len - p.head;
		}
		assert_int_equal(off, payload);
	}
}

// Cuts the packet with librte_gso, which computes no checksums and does not know CWR.
static int gso_cut(struct rte_mbuf *out[], const struct packet *p, uint32_t size)
{
	struct rte_gso_ctx ctx = {.direct_pool = mbufs,
		.indirect_pool = indirect,
		.gso_types = RTE_ETH_TX_OFFLOAD_TCP_TSO,
		.gso_size = (uint16_t)(RTE_ETHER_HDR_LEN + p->head + size)};
	struct rte_mbuf *m = rte_pktmbuf_alloc(mbufs);
	int n;

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, RTE_ETHER_HDR_LEN), 0, RTE_ETHER_HDR_LEN);
	memcpy(rte_pktmbuf_append(m, (uint16_t)p->len), p->b, p->len);
	m->l2_len = RTE_ETHER_HDR_LEN;
	m->l3_len = (uint16_t)(p->tcp & 0x1ff);
	m->l4_len = (uint8_t)(p->head - p->tcp);
	m->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4;
	n = rte_gso_segment(m, &ctx, out, PARTS_MAX);
	rte_pktmbuf_free(m);
	return n;
}

static void test_same_as_librte_gso(void **state)
{
	static struct packet p;
	static uint8_t part[HEAD_MAX + PAYLOAD], other[HEAD_MAX + PAYLOAD];
	struct rte_mbuf *out[PARTS_MAX];

	(void)state;
	for (unsigned long i = 0; i < rounds(ROUNDS / 10); i++) {
		uint32_t size = 100 + random_below(&seed, 2000);
		int n;

		packet_make(&p, true, size + 1 + random_below(&seed, 4 * size));
		p.b[p.tcp + 13] &= (uint8_t)~CWR;
		n = gso_cut(out, &p, size);
		assert_in_range(n, 2, PARTS_MAX);
		for (int k = 0; k < n; k++) {
			uint32_t len = part_make(part, &p, size, (uint32_t)k);

			assert_int_equal(rte_pktmbuf_pkt_len(out[k]), RTE_ETHER_HDR_LEN + len);
			memcpy(other, rte_pktmbuf_read(out[k], RTE_ETHER_HDR_LEN, len, other), len);
			memset(part + 10, 0, 2);
			memset(other + 10, 0, 2);
			memset(part + p.tcp + 16, 0, 2);
			memset(other + p.tcp + 16, 0, 2);
			assert_memory_equal(part, other, len);
			rte_pktmbuf_free(out[k]);
		}
	}
}

static uint16_t headers_of(const struct packet *p)
{
	struct ip_layout at;

	return ip_layout_read(&at, p->b) ? tcp_segment_headers(p->b, &at) : 0;
}

static void test_headers_that_lie(void **state)
{
	static struct packet p;

	(void)state;
	for (unsigned int i = 0; i < 2000; i++) {
		const bool v4 = i % 2 == 0;

		packet_make(&p, v4, 100);
		assert_int_equal(headers_of(&p), p.head);
		p.b[p.tcp + 12] = (uint8_t)(random_below(&seed, 5) << 4); // shorter than a header
		assert_int_equal(headers_of(&p), 0);
		packet_make(&p, v4, 1 + random_below(&seed, 40));
		put16(p.b + (v4 ? 2 : 4), p.head - random_below(&seed, 20) - (v4 ? 0 : 40));
		assert_int_equal(headers_of(&p), 0); // no payload, or not all of the header
		packet_make(&p, v4, 100);
		p.b[p.tcp + 13] |= i % 4 < 2 ? SYN : RST;
		assert_int_equal(headers_of(&p), 0);
		packet_make(&p, v4, 100);
		p.b[v4 ? 9 : p.tcp > 40 ? p.tcp - 8 : 6] = IPPROTO_UDP;
		assert_int_equal(headers_of(&p), 0);
		packet_make(&p, true, 100);
		put16(p.b + 6, i % 4 < 2 ? 0x2000 : 1); // a fragment
		assert_int_equal(headers_of(&p), 0);
		packet_make(&p, false, 100);
		p.b[p.tcp > 40 ? p.tcp - 8 : 6] = IPPROTO_FRAGMENT;
		memcpy(p.b + p.tcp, (uint8_t[]){IPPROTO_TCP, 0, 0, i % 4 < 2 ? 1 : 8}, 4);
		assert_int_equal(headers_of(&p), 0);
	}
}

static int start(void **state)
{
	(void)state;
	eal_start();
	mbufs = rte_pktmbuf_pool_create("mbufs", 1023, 0, 0,
		RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + HEAD_MAX + PAYLOAD, SOCKET_ID_ANY);
	indirect = rte_pktmbuf_pool_create("indirect", 1023, 0, 0, 0, SOCKET_ID_ANY);
	return mbufs != NULL && indirect != NULL ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(rte_mempool_in_use_count(mbufs), 0);
	eal_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_same_as_librte_gso),
		cmocka_unit_test(test_headers_that_lie),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
