// SPDX-License-Identifier: BSD-3-Clause
// ESP packets: their layout (RFC 4303 2), the outer header (RFC 4301 5.1.2.1), room and limits.
// Proves that a packet encapsulated by one side can be decapsulated by the other, for every
// algorithm and size.
#include <netinet/in.h>

#include <rte_mbuf.h>

#include "eal.h"
#include "esp_out.h"
#include "esp_single.h"
#include "ipv4.h"
#include "sas.h"
#include "test.h"

#define INNER_MAX 1500

static struct sa_params params(const struct cipher_alg *cipher, const struct auth_alg *auth)
{
	static const char nexthop; // not looked at
	struct sa_params p = sas_params(cipher, auth);

	p.nexthop = (const void *)&nexthop;
	return p;
}

static struct sa_params cbc_params(void)
{
	return params(cipher_alg_find("aes-128-cbc"), auth_alg_find("hmac-sha1-96"));
}

static struct rte_mbuf *inner_packet(uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(eal_pool);

	assert_non_null(m);

	uint8_t *b = (uint8_t *)rte_pktmbuf_append(m, len);

	assert_non_null(b);
	for (uint16_t i = 20; i < len; i++)
		b[i] = (uint8_t)(i * 11);
	*(struct rte_ipv4_hdr *)b = (struct rte_ipv4_hdr){
		.version_ihl = 0x45,
		.type_of_service = 0xba,
		.total_length = rte_cpu_to_be_16(len),
		.fragment_offset = RTE_BE16(0x4000),
		.time_to_live = 5,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = RTE_BE32(0x0a010005),
		.dst_addr = RTE_BE32(0x0a020005),
	};
	ipv4_checksum_set((struct rte_ipv4_hdr *)b);
	return m;
}

static void check_layout(struct sa_out *sa, uint16_t inner_len)
{
	struct rte_mbuf *m = inner_packet(inner_len);
	struct crypto_op op;
	uint8_t inner[INNER_MAX];
	const uint8_t spi_seq[] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0};

	memcpy(inner, rte_pktmbuf_mtod(m, void *), inner_len);
	assert_int_equal(esp_out_frame(&op, sa, m, 0x9abcdef0, 0), DROP_NONE);

	const uint8_t *b = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint8_t *text = b + 28 + sa->sa.per_packet.iv_len;
	uint16_t pad_len = text[op.text_len - 2];

	assert_int_equal(rte_pktmbuf_data_len(m),
		28 + sa->sa.per_packet.iv_len + op.text_len + sa->sa.per_packet.icv_len);
	assert_int_equal(rte_pktmbuf_pkt_len(m), rte_pktmbuf_data_len(m));
	assert_memory_equal(b + 20, spi_seq, sizeof(spi_seq));
	assert_memory_equal(text, inner, inner_len);
	assert_int_equal(op.text_len, inner_len + pad_len + 2);
	assert_int_equal(op.text_len % sa->sa.opt.cipher->block, 0);
	assert_int_equal(op.text_len % 4, 0);
	assert_in_range(pad_len, 0, sa->sa.opt.cipher->block - 1); // no more than it uses
	for (uint16_t i = 0; i < pad_len; i++)
		assert_int_equal(text[inner_len + i], i + 1);
	assert_int_equal(text[op.text_len - 1], IPPROTO_IPIP);
	assert_ptr_equal(op.esp, b + 20);
	assert_int_equal(op.seq, 0x9abcdef0);
	assert_ptr_equal(op.session, sa->sa.per_packet.session);
	rte_pktmbuf_free(m);
}

// Decapsulation yields the inner packet and nothing else.
static void check_round_trip(struct sa_out *out, struct sa_in *in, uint16_t inner_len)
{
	struct rte_mbuf *m = inner_packet(inner_len);
	uint64_t seq = sa_out_seq_alloc(out, 1);
	struct crypto_op op;
	const struct ip_layout outer = {.l4_off = sizeof(struct rte_ipv4_hdr), .v4 = true};
	uint8_t inner[INNER_MAX];

	memcpy(inner, rte_pktmbuf_mtod(m, void *), inner_len);
	assert_int_equal(esp_out_frame(&op, out, m, seq, 0), DROP_NONE);
	crypto_seal(&op, 1, 0);
	assert_true(op.ok);
	assert_int_equal(single_check(&op, in, m, sizeof(struct rte_ipv4_hdr)), DROP_NONE);
	crypto_open(&op, 1, 0);
	assert_true(op.ok);
	assert_int_equal(single_finish(&op, in, m, &outer), DROP_NONE);
	assert_int_equal(rte_pktmbuf_data_len(m), inner_len);
	assert_int_equal(rte_pktmbuf_pkt_len(m), inner_len);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), inner, inner_len);
	rte_pktmbuf_free(m);
}

static void test_every_algorithm(void **state)
{
	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			if (!alg_pair_ok(c, a))
				continue;

			struct sa_params p = params(c, a);
			struct sa_out *out = sa_out_new(&p);
			struct sa_in *in = sa_in_new(&p);
			uint64_t packets = 0, bytes = 0;

			assert_non_null(out);
			assert_non_null(in);
			for (uint16_t len = 20; len <= INNER_MAX; len++, packets++) {
				if (len < 100)
					check_layout(out, len);
				check_round_trip(out, in, len);
				bytes += len;
			}
			assert_int_equal(sas_counted(&in->sa, 0)->packets, packets);
			assert_int_equal(sas_counted(&in->sa, 0)->bytes, bytes);
			sa_free(&out->sa);
			sa_free(&in->sa);
		}
}

static void test_outer_header(void **state)
{
	static const struct {
		uint8_t tos;
		uint16_t frag, outer_frag;
	} rows[] = {{0, 0, 0}, {0xff, 0x4000, 0x4000}, {0xb8, 0x2000, 0}, {0x03, 0x0100, 0},
		{0x02, 0xc000, 0x4000}};
	struct sa_params p = cbc_params();
	struct sa_out *sa = sa_out_new(&p);

	(void)state;
	assert_non_null(sa);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct rte_mbuf *m = inner_packet(100);
		struct rte_ipv4_hdr *inner = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);
		struct crypto_op op;

		inner->type_of_service = rows[i].tos;
		inner->fragment_offset = rte_cpu_to_be_16(rows[i].frag);
		assert_int_equal(esp_out_frame(&op, sa, m, 1, 0), DROP_NONE);

		const struct rte_ipv4_hdr *outer = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);

		assert_int_equal(ipv4_check(outer, rte_pktmbuf_data_len(m), false), IPV4_GOOD);
		assert_int_equal(outer->version_ihl, 0x45);
		assert_int_equal(rte_be_to_cpu_16(outer->total_length), rte_pktmbuf_data_len(m));
		assert_int_equal(outer->type_of_service, rows[i].tos);
		assert_int_equal(rte_be_to_cpu_16(outer->fragment_offset), rows[i].outer_frag);
		assert_int_equal(outer->time_to_live, 64);
		assert_int_equal(outer->next_proto_id, IPPROTO_ESP);
		assert_int_equal(outer->src_addr, RTE_BE32(0xc0000201));
		assert_int_equal(outer->dst_addr, RTE_BE32(0xc0000202));
		rte_pktmbuf_free(m);
	}
	sa_free(&sa->sa);
}

// 111 octets of inner packet: 17 of trailer, as many as there may be, and 12 of ICV after it, 44
// before it.
static void check_room(struct sa_out *sa, uint16_t headroom, uint16_t tailroom, enum drop right)
{
	struct rte_mbuf *m = inner_packet(111);
	struct crypto_op op;
	uint8_t before[111];

	m->data_off = headroom;
	memcpy(before, rte_pktmbuf_mtod(m, void *), sizeof(before));
	m->buf_len = (uint16_t)(headroom + 111 + tailroom);
	if (esp_out_frame(&op, sa, m, 1, 0) != right)
		fail_msg("headroom %u, tailroom %u", headroom, tailroom);
	if (right != DROP_NONE) {
		assert_int_equal(rte_pktmbuf_data_len(m), 111);
		assert_int_equal(m->data_off, headroom);
		assert_memory_equal(rte_pktmbuf_mtod(m, void *), before, sizeof(before));
	}
	m->buf_len = RTE_MBUF_DEFAULT_BUF_SIZE;
	rte_pktmbuf_free(m);
}

static void test_room(void **state)
{
	struct sa_params p = cbc_params();
	struct sa_out *sa = sa_out_new(&p);

	(void)state;
	assert_non_null(sa);
	check_room(sa, 44, 29, DROP_NONE);
	check_room(sa, 43, 29, DROP_NO_ROOM);
	check_room(sa, 44, 28, DROP_NO_ROOM);
	check_room(sa, 0, 1000, DROP_NO_ROOM);
	check_room(sa, 1000, 0, DROP_NO_ROOM);
	assert_int_equal(sas_counted(&sa->sa, 0)->packets, 1);
	sa_free(&sa->sa);
}

static void test_sequence_end(void **state)
{
	struct sa_params p = cbc_params();
	struct sa_out *sa = sa_out_new(&p);
	struct rte_mbuf *m = inner_packet(100);
	struct crypto_op op;

	(void)state;
	assert_non_null(sa);
	assert_int_equal(esp_out_frame(&op, sa, m, UINT32_MAX + UINT64_C(1), 0), DROP_SEQUENCE_END);
	assert_int_equal(esp_out_frame(&op, sa, m, UINT64_MAX, 0), DROP_SEQUENCE_END);
	assert_int_equal(rte_pktmbuf_data_len(m), 100);
	assert_int_equal(esp_out_frame(&op, sa, m, UINT32_MAX, 0), DROP_NONE);
	rte_pktmbuf_free(m);
	sa_free(&sa->sa);
}

// Numbers that are not reserved are not used; reserved ones are, whatever happened before.
static void test_sequence_reserved(void **state)
{
	struct sa_params p = cbc_params();
	struct sa_out *sa = sa_out_new(&p);
	struct crypto_op op;

	(void)state;
	assert_non_null(sa);
	sa_start_behind(&sa->sa, 1000);
	sa_out_allow(sa, 1002);
	for (uint64_t seq = 1001; seq <= 1006; seq++) {
		struct rte_mbuf *m = inner_packet(100);

		if (seq == 1005)
			sa_out_allow(sa, UINT64_MAX);
		assert_int_equal(sa_out_seq_alloc(sa, 1), seq);
		assert_int_equal(esp_out_frame(&op, sa, m, seq, 0),
			seq == 1003 || seq == 1004 ? DROP_SEQUENCE_UNSAVED : DROP_NONE);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(sa->sa.per_packet.seq_limit, UINT32_MAX);
	sa_stop(&sa->sa, LIFETIME_SECONDS);
	sa_out_allow(sa, UINT64_MAX); // an expired SA stays so
	assert_int_equal(sa->sa.per_packet.seq_limit, 0);
	sa_free(&sa->sa);
}

static enum drop frame_number(struct sa_out *sa, uint64_t seq)
{
	struct rte_mbuf *m = inner_packet(100);
	struct crypto_op op;
	enum drop reason = esp_out_frame(&op, sa, m, seq, 0);

	rte_pktmbuf_free(m);
	return reason;
}

// The second member of a pair uses the second block of numbers, and the fourth. None of another
// block than the present one is used, whoever has allocated it.
static void test_sequence_blocks(void **state)
{
	const uint64_t block = NUMBER_BLOCK;
	struct sa_params p = cbc_params();
	struct sa_out *sa;

	(void)state;
	p.member = 2;
	sa = sa_out_new(&p);
	assert_non_null(sa);
	assert_true(sa->seq_max == UINT32_MAX);
	assert_true(sa_out_seq_alloc(sa, 1) == block);
	assert_int_equal(frame_number(sa, block), DROP_NONE);
	assert_int_equal(frame_number(sa, 1), DROP_SEQUENCE_UNSAVED);
	assert_int_equal(frame_number(sa, block - 1), DROP_SEQUENCE_UNSAVED);
	assert_int_equal(frame_number(sa, 2 * block - 1), DROP_NONE);
	assert_int_equal(frame_number(sa, 2 * block), DROP_SEQUENCE_UNSAVED);
	assert_int_equal(frame_number(sa, 3 * block), DROP_SEQUENCE_UNSAVED);
	sa_out_block_set(sa, 2 * block - 1);
	assert_true(sa_out_seq_alloc(sa, 1) == 3 * block);
	assert_int_equal(frame_number(sa, 3 * block), DROP_NONE);
	assert_int_equal(frame_number(sa, 2 * block - 1), DROP_SEQUENCE_UNSAVED);
	assert_int_equal(frame_number(sa, 2 * block), DROP_SEQUENCE_UNSAVED);
	assert_int_equal(frame_number(sa, 3 * block - 1), DROP_SEQUENCE_UNSAVED);
	sa_out_allow(sa, 3 * block + 5); // the disk has no more
	assert_int_equal(frame_number(sa, 3 * block + 5), DROP_NONE);
	assert_int_equal(frame_number(sa, 3 * block + 6), DROP_SEQUENCE_UNSAVED);
	assert_int_equal(frame_number(sa, 2 * block + 7), DROP_SEQUENCE_UNSAVED);
	sa_free(&sa->sa);
	p.member = 1;
	sa = sa_out_new(&p);
	assert_non_null(sa);
	assert_true(sa->seq_max == UINT32_MAX - block); // the last block is the other one's
	sa_start_behind(&sa->sa, UINT32_MAX - block);
	assert_true(sa_out_seq_alloc(sa, 1) == UINT32_MAX - block + 1);
	assert_int_equal(frame_number(sa, UINT32_MAX - block + 1), DROP_SEQUENCE_END);
	sa_free(&sa->sa);
}

// A run of packets that goes beyond the end of the block ends there.
static void test_run_ends_with_block(void **state)
{
	struct sa_params p = cbc_params();
	struct rte_mbuf *m[8];
	struct crypto_op op[8];
	struct sa_out *sa;

	(void)state;
	p.member = 1;
	sa = sa_out_new(&p);
	assert_non_null(sa);
	for (unsigned int i = 0; i < 8; i++)
		m[i] = inner_packet(100);
	sa_out_block_set(sa, NUMBER_BLOCK - 1); // allowed up to the end of the third
	assert_int_equal(esp_out_fns[sa_out_path(sa)->framing](
				 op, sa_out_at(sa, 0), sa_out_path(sa), m, 8, 3 * NUMBER_BLOCK - 5),
		5);
	for (unsigned int i = 0; i < 8; i++)
		rte_pktmbuf_free(m[i]);
	sa_free(&sa->sa);
}

// Every length of an ESP packet: enough for its fields, and whole blocks.
static void check_lengths(const struct cipher_alg *c, const struct auth_alg *a)
{
	struct sa_params p = params(c, a);
	struct sa_in *in = sa_in_new(&p);
	uint16_t around = (uint16_t)(20 + 8 + c->iv_len + alg_pair_icv_len(c, a));

	assert_non_null(in);
	for (uint16_t len = 28; len < 200; len++) {
		struct rte_mbuf *m = inner_packet(len);
		bool right = len > around && (len - around) % c->block == 0;
		struct crypto_op op;

		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, 24), (uint8_t[]){0, 0, 0, 9}, 4);
		if (single_check(&op, in, m, sizeof(struct rte_ipv4_hdr)) !=
			(right ? DROP_NONE : DROP_ESP_SHORT))
			fail_msg("%s %s: length %u", c->name, a->name, len);
		if (right) {
			assert_int_equal(op.text_len, len - around);
			assert_int_equal(op.seq, 9);
		}
		rte_pktmbuf_free(m);
	}
	sa_free(&in->sa);
}

static void test_lengths(void **state)
{
	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
			if (alg_pair_ok(c, a))
				check_lengths(c, a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_algorithm),
		cmocka_unit_test(test_outer_header),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_sequence_end),
		cmocka_unit_test(test_sequence_reserved),
		cmocka_unit_test(test_sequence_blocks),
		cmocka_unit_test(test_run_ends_with_block),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, eal_pool_start, eal_pool_stop);
}
