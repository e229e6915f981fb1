// SPDX-License-Identifier: BSD-3-Clause
// ESP in transport mode (RFC 4303 3.1.1): packets made by scapy and libcrypto, of every algorithm,
// family and kind of header; sizes that fit a path; packets that must not be delivered.
#include <netinet/in.h>

#include <rte_mbuf.h>

#include "addrs.h"
#include "eal.h"
#include "esp_out.h"
#include "esp_single.h"
#include "esp_transport.h"
#include "hex.h"
#include "ip_view.h"
#include "ipv4.h"
#include "packets.h"
#include "sas.h"
#include "test.h"

static struct rte_mbuf *packet_mbuf(const void *octets, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(eal_pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), octets, len);
	return m;
}

static void expect_packet(const struct rte_mbuf *m, const char *name, const struct octets *right)
{
	if (rte_pktmbuf_data_len(m) != right->len || rte_pktmbuf_pkt_len(m) != right->len)
		fail_msg("%s: %u octets, must be %u", name, rte_pktmbuf_data_len(m), right->len);
	for (uint32_t i = 0; i < right->len; i++)
		if (rte_pktmbuf_mtod(m, uint8_t *)[i] != right->b[i])
			fail_msg("%s: octet %u is %02x, must be %02x", name, i,
				rte_pktmbuf_mtod(m, uint8_t *)[i], right->b[i]);
}

static const char nexthop; // not verified

static struct sa_params params(
	const struct cipher_alg *cipher, const struct auth_alg *auth, bool v6)
{
	struct sa_params p = sas_params(cipher, auth);

	p.opt.mode = SA_TRANSPORT;
	p.nexthop = (const void *)&nexthop;
	p.mtu = 1500;
	p.opt.local = addr_of(v6 ? "2001:db8:f::1" : "192.0.2.1");
	p.opt.remote = addr_of(v6 ? "2001:db8:e::2" : "198.51.100.2");
	return p;
}

static struct sa_params gcm_params(bool v6)
{
	return params(cipher_alg_find("aes-128-gcm"), auth_alg_find("none"), v6);
}

// --- packets of other implementations ---

static enum drop open_packet(struct sa_in *in, struct rte_mbuf *m)
{
	struct ip_layout outer;
	struct crypto_op op;
	enum drop d;

	ip_layout_read(&outer, rte_pktmbuf_mtod(m, void *));
	d = single_check(&op, in, m, outer.l4_off);
	if (d != DROP_NONE)
		return d;
	crypto_open(&op, 1, 0);
	assert_true(op.ok);
	return single_finish(&op, in, m, &outer);
}

// The IV of CBC is unpredictable: a sealed packet is checked by opening it.
static void check_out(const char *name, const struct sa_params *p, uint64_t seq,
	const struct octets *packet, const struct octets *sealed)
{
	struct rte_mbuf *m = packet_mbuf(packet->b, packet->len);
	struct sa_out *out = sa_out_new(p);
	struct sa_in *in = sa_in_new(p);
	struct crypto_op op;

	assert_non_null(out);
	assert_non_null(in);
	in->sa.per_packet.replay.ring->top = seq - 1;
	assert_ptr_equal(esp_out_fns[sa_out_path(out)->framing], esp_out_transport);
	assert_int_equal(esp_out_frame(&op, out, m, seq, 0), DROP_NONE);
	assert_int_equal(sas_counted(&out->sa, 0)->bytes, packet->len);
	crypto_seal(&op, 1, 0);
	assert_true(op.ok);
	if (p->opt.cipher->mode != CIPHER_CBC) {
		expect_packet(m, name, sealed);
	} else {
		uint32_t head_len = (uint32_t)(op.esp - rte_pktmbuf_mtod(m, uint8_t *)) + 8;

		assert_int_equal(rte_pktmbuf_data_len(m), sealed->len);
		assert_memory_equal(rte_pktmbuf_mtod(m, void *), sealed->b, head_len);
		assert_int_equal(open_packet(in, m), DROP_NONE);
		expect_packet(m, name, packet);
	}
	rte_pktmbuf_free(m);
	sa_free(&out->sa);
	sa_free(&in->sa);
}

static void check_in(const char *name, const struct sa_params *p, uint64_t seq,
	const struct octets *packet, const struct octets *sealed)
{
	struct rte_mbuf *m = packet_mbuf(sealed->b, sealed->len);
	struct sa_in *in = sa_in_new(p);

	assert_non_null(in);
	in->sa.per_packet.replay.ring->top = seq - 1;
	assert_int_equal(open_packet(in, m), DROP_NONE);
	expect_packet(m, name, packet);
	assert_int_equal(sas_counted(&in->sa, 0)->packets, 1);
	assert_int_equal(sas_counted(&in->sa, 0)->bytes, packet->len);
	rte_pktmbuf_free(m);
	sa_free(&in->sa);
}

// NAME CIPHER AUTH ESN CIPHER-KEY AUTH-KEY SPI SEQ PACKET SEALED
static void check_line(char *const word[])
{
	struct octets packet = packet_octets(word[8]), sealed = packet_octets(word[9]);
	uint8_t cipher_key[CRYPTO_CIPHER_KEY_MAX] = {0}, auth_key[CRYPTO_AUTH_KEY_MAX] = {0};
	struct sa_params p =
		params(cipher_alg_find(word[1]), auth_alg_find(word[2]), !ip_is_v4(packet.b));
	uint64_t seq = strtoull(word[7], NULL, 16);

	p.opt.spi = (uint32_t)strtoul(word[6], NULL, 16);
	p.cipher_key = cipher_key;
	p.auth_key = auth_key;
	p.opt.esn = word[3][0] == '1';
	hex_parse(cipher_key, sizeof(cipher_key), word[4]);
	hex_parse(auth_key, sizeof(auth_key), word[5]);
	check_out(word[0], &p, seq, &packet, &sealed);
	check_in(word[0], &p, seq, &packet, &sealed);
	free(packet.b);
	free(sealed.b);
}

static void test_vectors(void **state)
{
	(void)state;
	assert_int_equal(packets_each_line("transport_packets.txt", check_line),
		(7 * 4 + 13) * 2 * 4 * 2 + 2 * 15);
}

// --- sizes ---

// An IPv4 packet whose options are all "no operation".
static struct rte_mbuf *packet_with_options(uint16_t len, uint8_t hdr_len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(eal_pool);
	struct rte_ipv4_hdr ip = {
		.version_ihl = (uint8_t)(0x40 | hdr_len / 4),
		.total_length = rte_cpu_to_be_16(len),
		.time_to_live = 5,
		.next_proto_id = IPPROTO_UDP,
	};

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, len), 1, len);
	memcpy(rte_pktmbuf_mtod(m, void *), &ip, sizeof(ip));
	ipv4_checksum_set(rte_pktmbuf_mtod(m, void *));
	return m;
}

// Octets of the ESP packet.
static uint16_t sealed_len(struct sa_out *out, uint16_t len, uint8_t hdr_len)
{
	struct rte_mbuf *m = packet_with_options(len, hdr_len);
	struct crypto_op op;
	uint16_t sealed;

	assert_int_equal(esp_out_frame(&op, out, m, 1, 0), DROP_NONE);
	sealed = rte_pktmbuf_data_len(m);
	rte_pktmbuf_free(m);
	return sealed;
}

static void check_fit(struct sa_params *p)
{
	for (p->mtu = 576; p->mtu < 576 + 20; p->mtu++) {
		struct sa_out *out = sa_out_new(p);
		uint16_t least = UINT16_MAX;

		assert_non_null(out);
		for (uint8_t hdr_len = 20; hdr_len <= 60; hdr_len = (uint8_t)(hdr_len + 4)) {
			struct rte_mbuf *m = packet_with_options(100, hdr_len);
			uint16_t mtu = esp_out_mtu(&out->sa, sa_out_path(out), m);

			rte_pktmbuf_free(m);
			assert_in_range(sealed_len(out, mtu, hdr_len), 1, p->mtu);
			assert_in_range(sealed_len(out, (uint16_t)(mtu + 1), hdr_len), p->mtu + 1,
				UINT16_MAX);
			least = mtu < least ? mtu : least;
		}
		assert_int_equal(sa_out_path(out)->mtu, least);
		assert_int_equal(sa_out_path(out)->link_mtu, p->mtu);
		sa_free(&out->sa);
	}
}

static void test_fit(void **state)
{
	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			struct sa_params p = params(c, a, false);

			if (alg_pair_ok(c, a))
				check_fit(&p);
		}
}

static void test_room(void **state)
{
	static const struct {
		uint16_t headroom, tailroom;
		enum drop right;
	} rows[] = {{16, 21, DROP_NONE}, {15, 21, DROP_NO_ROOM}, {16, 20, DROP_NO_ROOM}};
	struct sa_params p = gcm_params(false);
	struct sa_out *out = sa_out_new(&p);

	(void)state;
	assert_non_null(out);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		// 79 octets after the header: 3 of padding, as many as there may be, 2 of trailer,
		// 16 of ICV.
		struct rte_mbuf *m = packet_with_options(99, 20);
		uint8_t before[99];
		struct crypto_op op;

		memmove((uint8_t *)m->buf_addr + rows[i].headroom, rte_pktmbuf_mtod(m, void *), 99);
		m->data_off = rows[i].headroom;
		m->buf_len = (uint16_t)(rows[i].headroom + 99 + rows[i].tailroom);
		memcpy(before, rte_pktmbuf_mtod(m, void *), sizeof(before));
		assert_int_equal(esp_out_frame(&op, out, m, 1, 0), rows[i].right);
		if (rows[i].right != DROP_NONE) {
			assert_int_equal(rte_pktmbuf_data_len(m), 99);
			assert_memory_equal(rte_pktmbuf_mtod(m, void *), before, sizeof(before));
		}
		m->buf_len = RTE_MBUF_DEFAULT_BUF_SIZE;
		rte_pktmbuf_free(m);
	}
	sa_free(&out->sa);
}

// --- invalid packets of peers ---

// Seals text, which has its trailer already, after the header of an IPv4 packet.
static enum drop open_text(const void *text, uint16_t text_len)
{
	struct sa_params p = gcm_params(false);
	struct sa_out *out = sa_out_new(&p);
	struct sa_in *in = sa_in_new(&p);
	struct rte_mbuf *m = packet_with_options(100, 24);
	struct crypto_op op;
	enum drop d;

	assert_non_null(out);
	assert_non_null(in);
	assert_int_equal(esp_out_frame(&op, out, m, 1, 0), DROP_NONE);
	memcpy(op.esp + 16, text, text_len);
	op.text_len = text_len;
	crypto_seal(&op, 1, 0);
	assert_true(op.ok);
	m->data_len = (uint16_t)(24 + 16 + text_len + 16);
	m->pkt_len = m->data_len;
	d = open_packet(in, m);
	if (d == DROP_NONE)
		assert_int_equal(
			ipv4_check(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_data_len(m), false),
			IPV4_GOOD);
	rte_pktmbuf_free(m);
	sa_free(&out->sa);
	sa_free(&in->sa);
	return d;
}

static void test_text(void **state)
{
	(void)state;
	assert_int_equal(open_text("\1\2\2\x11", 4), DROP_NONE); // nothing but a trailer
	assert_int_equal(open_text("ab\0\x11", 4), DROP_NONE);
	assert_int_equal(open_text("ab\0\4", 4), DROP_NONE); // IPv4, valid or not
	assert_int_equal(open_text("ab\0\x3b", 4), DROP_DUMMY);
	assert_int_equal(open_text("\1\2\3\x11", 4), DROP_PADDING);
	assert_int_equal(open_text("\1\1\2\x11", 4), DROP_PADDING);
	assert_int_equal(open_text("ab\xff\x11", 4), DROP_PADDING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, eal_pool_start, eal_pool_stop);
}
