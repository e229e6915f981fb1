// SPDX-License-Identifier: BSD-3-Clause
// Security associations built from parameters, and the size of packets that they admit.
#include <errno.h>

#include <rte_ip.h>

#include "addrs.h"
#include "sas.h"
#include "test.h"

static struct sa_params gcm_params(void)
{
	return sas_params(cipher_alg_find("aes-128-gcm"), auth_alg_find("none"));
}

// Octets of the outer packet for an inner one (RFC 4303 2).
static unsigned int outer_len(const struct sa *sa, unsigned int inner)
{
	unsigned int text = inner + 2;

	while (text % sa->per_packet.align != 0)
		text++;
	return 20 + 8 + sa->per_packet.iv_len + text + sa->per_packet.icv_len;
}

static void check_inner_mtu(const struct sa *sa)
{
	unsigned int inner = 0; // never less for a larger mtu

	for (uint16_t mtu = 0; mtu <= 9600; mtu++) {
		while (outer_len(sa, inner + 1) <= mtu)
			inner++;
		if (sa_inner_mtu(sa, 20, mtu) != inner)
			fail_msg("%s: mtu %u: %u, must be %u", sa->opt.cipher->name, mtu,
				sa_inner_mtu(sa, 20, mtu), inner);
	}
}

static void test_every_algorithm(void **state)
{
	unsigned int pairs = 0;

	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			if (!alg_pair_ok(c, a))
				continue;

			struct sa_params p = sas_params(c, a);
			struct sa_out *out = sa_out_new(&p);
			struct sa_in *in = sa_in_new(&p);

			assert_non_null(out);
			assert_non_null(in);
			assert_int_equal(out->sa.per_packet.icv_len, c->icv_len + a->icv_len);
			check_inner_mtu(&out->sa);
			sa_free(&out->sa);
			sa_free(&in->sa);
			pairs++;
		}
	assert_int_equal(pairs, 7 * 4 + 13);
}

// The well-known numbers for a path of 1500 octets.
static void test_known_mtus(void **state)
{
	static const struct {
		const char *cipher, *auth;
		uint16_t inner;
	} rows[] = {
		{"null", "hmac-sha1-96", 1458},
		{"aes-128-cbc", "hmac-sha1-96", 1438},
		{"aes-256-cbc", "hmac-sha2-256-128", 1438},
		{"aes-256-cbc", "hmac-sha2-512-256", 1422},
		{"aes-256-ctr", "hmac-sha2-256-128", 1446},
		{"aes-256-gcm", "none", 1446},
		{"aes-128-gcm-8", "none", 1454},
		{"chacha20-poly1305", "none", 1446},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sa_params p =
			sas_params(cipher_alg_find(rows[i].cipher), auth_alg_find(rows[i].auth));
		struct sa_out *sa = sa_out_new(&p);

		assert_non_null(sa);
		assert_int_equal(
			sa_inner_mtu(&sa->sa, sa_out_path(sa)->outer_len, 1500), rows[i].inner);
		sa_free(&sa->sa);
	}
}

// A UDP header more (RFC 3948 2.1).
static void test_in_udp(void **state)
{
	static const uint8_t udp[] = {0x11, 0x94, 0x04, 0x01, 0, 0, 0, 0};
	struct sa_params p = gcm_params();
	struct sa_out *sa;

	(void)state;
	p.opt.in_udp = true;
	p.opt.udp_local_port = 4500;
	p.opt.udp_remote_port = 1025;
	p.mtu = 1500;
	sa = sa_out_new(&p);
	assert_non_null(sa);
	assert_int_equal(sa_out_path(sa)->outer_len, 28);
	assert_int_equal(sa_out_path(sa)->outer[9], 17);
	assert_memory_equal(sa_out_path(sa)->outer + 20, udp, sizeof(udp));
	assert_int_equal(sa_out_path(sa)->mtu, 1438);
	sa_free(&sa->sa);
	p.opt.local = addr_of("2001:db8::1");
	p.opt.remote = addr_of("2001:db8::2");
	sa = sa_out_new(&p);
	assert_non_null(sa);
	assert_int_equal(sa_out_path(sa)->outer_len, 48);
	assert_int_equal(sa_out_path(sa)->outer[6], 17);
	assert_memory_equal(sa_out_path(sa)->outer + 40, udp, sizeof(udp));
	assert_int_equal(sa_out_path(sa)->mtu, 1418);
	sa_free(&sa->sa);
}

static void test_outbound(void **state)
{
	struct sa_params p = gcm_params();
	struct sa_out *sa = sa_out_new(&p);

	(void)state;
	assert_non_null(sa);

	const struct rte_ipv4_hdr *outer = (const struct rte_ipv4_hdr *)sa_out_path(sa)->outer;

	assert_string_equal(sa->sa.live.name, "sa");
	assert_int_equal(sa->sa.spi, RTE_BE32(0x12345678));
	assert_int_equal(sa->sa.n_workers, 4); // and the control thread
	assert_non_null(sa->sa.per_packet.session);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(sas_counted(&sa->sa, i)->packets, 0);
	assert_int_equal(sa_out_path(sa)->outer_len, 20);
	assert_int_equal(outer->version_ihl, 0x45);
	assert_int_equal(outer->next_proto_id, 50);
	assert_int_equal(outer->time_to_live, 64);
	assert_int_equal(outer->src_addr, RTE_BE32(0xc0000201));
	assert_int_equal(outer->dst_addr, RTE_BE32(0xc0000202));
	sa_free(&sa->sa);
	sa_free(NULL);
}

static void test_sequence_numbers(void **state)
{
	struct sa_params p = gcm_params();
	struct sa_out *sa = sa_out_new(&p);

	(void)state;
	assert_non_null(sa);
	assert_int_equal(sa->seq_max, UINT32_MAX); // without ESN (RFC 4303 3.3.3)
	assert_int_equal(sa_out_seq_alloc(sa, 1), 1);
	assert_int_equal(sa_out_seq_alloc(sa, 64), 2);
	assert_int_equal(sa_out_seq_alloc(sa, 1), 66);
	sa->seq = UINT32_MAX;
	assert_int_equal(sa_out_seq_alloc(sa, 1), UINT32_MAX + UINT64_C(1)); // no wrap
	sa_free(&sa->sa);
}

// With ESN numbers end before 2^64, and the counter does not get there however many are allocated.
static void test_extended_sequence_numbers(void **state)
{
	struct sa_params p = gcm_params();

	(void)state;
	p.opt.esn = true;

	struct sa_out *sa = sa_out_new(&p);

	assert_non_null(sa);
	assert_true(sa->sa.opt.esn);
	assert_true(sa->seq_max == UINT64_MAX - UINT16_MAX);
	sa->seq = UINT32_MAX;
	assert_true(sa_out_seq_alloc(sa, 1) == UINT64_C(1) << 32);
	sa->seq = sa->seq_max - 1;
	for (unsigned int i = 0; i < 100000; i++) {
		for (unsigned int worker = 0; worker < SA_WORKERS_MAX; worker++)
			assert_true(sa_out_seq_alloc(sa, 64) >= sa->seq_max);
		sa_out_hold_seq(sa);
		assert_true(sa->seq == sa->seq_max);
	}
	sa_free(&sa->sa);
}

static void test_unknown_engine(void **state)
{
	struct sa_params p = gcm_params();

	(void)state;
	p.engine = "abacus";
	errno = 0;
	assert_null(sa_out_new(&p));
	assert_int_equal(errno, ENOTSUP);
	errno = 0;
	assert_null(sa_in_new(&p));
	assert_int_equal(errno, ENOTSUP);
}

// The numbers allocated in the last seconds.
static void test_recent(void **state)
{
	struct sa_params p = gcm_params();
	struct sa_out *sa = sa_out_new(&p);
	uint64_t now_ms = 1000000;

	(void)state;
	sa_start_behind(&sa->sa, 500);
	assert_false(sa_out_is_recent(sa, 500));
	sa_out_seq_alloc(sa, 10);
	assert_false(sa_out_is_recent(sa, 500));
	assert_true(sa_out_is_recent(sa, 501));
	assert_true(sa_out_is_recent(sa, 510));
	assert_false(sa_out_is_recent(sa, 511));
	sa_out_sample(sa, now_ms);
	for (unsigned int i = 0; i < 19; i++)
		sa_out_sample(sa, now_ms += SA_RECENT_MS / 20);
	assert_true(sa_out_is_recent(sa, 501));
	sa_out_seq_alloc(sa, 10);
	sa_out_sample(sa, now_ms += SA_RECENT_MS / 20);
	assert_false(sa_out_is_recent(sa, 510));
	assert_true(sa_out_is_recent(sa, 511));
	sa_out_sample(sa, now_ms += SA_RECENT_MS);
	assert_false(sa_out_is_recent(sa, 520)); // and nothing since
	sa_free(&sa->sa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_algorithm),
		cmocka_unit_test(test_known_mtus),
		cmocka_unit_test(test_in_udp),
		cmocka_unit_test(test_outbound),
		cmocka_unit_test(test_sequence_numbers),
		cmocka_unit_test(test_extended_sequence_numbers),
		cmocka_unit_test(test_unknown_engine),
		cmocka_unit_test(test_recent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
