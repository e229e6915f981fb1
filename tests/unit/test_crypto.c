// SPDX-License-Identifier: BSD-3-Clause
// Sealing and opening, for every engine and pair of algorithms, against the oracle.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rte_byteorder.h>

#include "crypto_oracle.h"

static bool seal_one(struct packet *p, struct crypto_session *s)
{
	struct crypto_op op = packet_op(p, s);

	crypto_seal(&op, 1, 0);
	return op.ok;
}

static bool open_one(struct packet *p, struct crypto_session *s)
{
	struct crypto_op op = packet_op(p, s);

	crypto_open(&op, 1, 0);
	return op.ok;
}

static void check_seal_all_lengths(struct sa *sa)
{
	uint8_t block = sa->key.cipher->block;
	struct packet p;

	for (uint16_t len = block; len <= TEXT_MAX; len += block) {
		packet_init(&p, sa, len, len);
		if (!seal_one(&p, sa->seal) || !oracle_open(&p))
			fail_msg("%s %s: %u octets", sa->key.cipher->name, sa->key.auth->name, len);
	}
}

static void test_seal_all_lengths(void **state)
{
	(void)state;
	for_each_sa(check_seal_all_lengths);
}

static void check_open_all_lengths(struct sa *sa)
{
	uint8_t block = sa->key.cipher->block;
	struct packet p;

	for (uint16_t len = block; len <= TEXT_MAX; len += block) {
		packet_init(&p, sa, len, len);
		oracle_seal(&p);
		if (!open_one(&p, sa->open) || !packet_text_ok(&p))
			fail_msg("%s %s: %u octets", sa->key.cipher->name, sa->key.auth->name, len);
	}
}

static void test_open_all_lengths(void **state)
{
	(void)state;
	for_each_sa(check_open_all_lengths);
}

static void check_workers(struct sa *sa)
{
	struct packet p;
	struct crypto_op op;

	for (unsigned int i = 0; i < 100; i++) {
		packet_init(&p, sa, i, 64);
		op = packet_op(&p, sa->seal);
		crypto_seal(&op, 1, i * i % SA_WORKERS);
		assert_true(op.ok && oracle_open(&p));
		op = packet_op(&p, sa->open);
		crypto_open(&op, 1, i % SA_WORKERS);
		assert_true(op.ok && packet_text_ok(&p));
	}
}

// One session serves several workers, whose packets are in any order.
static void test_workers(void **state)
{
	(void)state;
	for_each_sa(check_workers);
}

static void check_bounds(struct sa *sa)
{
	static const uint8_t zeros[PACKET_MAX];
	uint8_t header[8];
	struct packet p;

	packet_init(&p, sa, 1, 64);
	memcpy(header, p.esp, sizeof(header));
	assert_true(seal_one(&p, sa->seal));
	assert_memory_equal(p.esp, header, sizeof(header));
	assert_memory_equal(p.esp + packet_len(&p), zeros, PACKET_MAX - packet_len(&p));
	assert_true(open_one(&p, sa->open));
	assert_memory_equal(p.esp, header, sizeof(header));
	assert_memory_equal(p.esp + packet_len(&p), zeros, PACKET_MAX - packet_len(&p));
}

// The ESP header and the octets after the ICV are not changed.
static void test_bounds(void **state)
{
	(void)state;
	for_each_sa(check_bounds);
}

static int compare_iv(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

static void check_cbc_ivs(struct sa *sa)
{
	enum { N = 2000 };
	static uint8_t ivs[N][16];
	uint8_t last_block[16] = {0};
	struct crypto_session *sessions[2];
	struct crypto_op op;
	struct packet p;

	if (sa->key.cipher->mode != CIPHER_CBC)
		return;
	sessions[0] = sa->seal;
	sessions[1] = crypto_session_new(&sa->key, CRYPTO_SEAL, sa->engine, SA_WORKERS);
	assert_non_null(sessions[1]);
	packet_init(&p, sa, 0, 64);
	for (int i = 0; i < N; i++) {
		p.seq = i % (N / 2);
		memcpy(packet_text(&p), p.text, p.text_len);
		op = packet_op(&p, sessions[i >= N / 2]);
		crypto_seal(&op, 1, i % SA_WORKERS);
		assert_true(op.ok);
		memcpy(ivs[i], packet_iv(&p), 16);
		assert_memory_not_equal(ivs[i], last_block, 16);
		memcpy(last_block, packet_icv(&p) - 16, 16);
	}
	crypto_session_free(sessions[1]);

	qsort(ivs, N, 16, compare_iv);
	for (int i = 1; i < N; i++)
		assert_memory_not_equal(ivs[i - 1], ivs[i], 16);
}

// IVs of CBC never repeat, in one session or in another one of the same key and sequence numbers,
// and differ from the block that was sent before.
static void test_cbc_ivs(void **state)
{
	(void)state;
	for_each_sa(check_cbc_ivs);
}

static unsigned int bits_differ(const uint8_t *a, const uint8_t *b)
{
	unsigned int n = 0;

	for (int i = 0; i < 16; i++)
		n += (unsigned int)__builtin_popcount(a[i] ^ b[i]);
	return n;
}

static void check_cbc_iv_no_counter(struct sa *sa)
{
	enum { N = 2000 };
	uint8_t last[16] = {0}, little[16] = {0}, big[16] = {0};
	unsigned int differ = 0;
	struct packet p;

	if (sa->key.cipher->mode != CIPHER_CBC)
		return;
	for (unsigned int i = 0; i < N; i++) {
		packet_init(&p, sa, i, 64);
		assert_true(seal_one(&p, sa->seal));
		differ += bits_differ(packet_iv(&p), last);
		memcpy(last, packet_iv(&p), 16);
		little[0] = big[15] = (uint8_t)i;
		little[1] = big[14] = (uint8_t)(i >> 8);
		assert_true(bits_differ(last, little) > 20 && bits_differ(last, big) > 20);
		oracle_block_encrypt(packet_iv(&p), sa, little);
		assert_memory_not_equal(last, packet_iv(&p), 16);
		oracle_block_encrypt(packet_iv(&p), sa, big);
		assert_memory_not_equal(last, packet_iv(&p), 16);
	}
	// Half of 128 bits change, as at random; the standard deviation of the sum is 253.
	assert_in_range(differ, 64 * N - 1500, 64 * N + 1500);
}

// IVs of CBC are neither a counter, nor an encrypted counter: with chosen plaintext, an attacker
// could learn its encryption beforehand.
static void test_cbc_iv_is_no_counter(void **state)
{
	(void)state;
	for_each_sa(check_cbc_iv_no_counter);
}

static void check_counter_iv(struct sa *sa)
{
	const uint64_t seq = 0x0123456789abcdef;
	const rte_be64_t iv = rte_cpu_to_be_64(seq ^ sa->key.iv_mask);
	struct packet p;

	if (!cipher_alg_counts(sa->key.cipher))
		return;
	assert_int_not_equal(sa->key.iv_mask, 0);
	packet_init(&p, sa, seq, 64);
	assert_true(seal_one(&p, sa->seal));
	assert_memory_equal(packet_iv(&p), &iv, sizeof(iv));
}

static void test_iv_is_masked_sequence_number(void **state)
{
	(void)state;
	for_each_sa(check_counter_iv);
}

static void check_damaged(struct sa *sa)
{
	struct packet p[3];
	struct crypto_op ops[3];
	size_t len = 1;

	for (size_t damage = 0; damage < len; damage++) {
		for (int i = 0; i < 3; i++) {
			packet_init(&p[i], sa, 6 + i, 64);
			oracle_seal(&p[i]);
			ops[i] = packet_op(&p[i], sa->open);
		}
		len = packet_len(&p[1]);
		p[1].esp[damage] ^= (uint8_t)(1 << damage % 8);
		crypto_open(ops, 3, 0);
		assert_true(ops[0].ok && packet_text_ok(&p[0]));
		if (ops[1].ok)
			fail_msg("%s %s: octet %zu", sa->key.cipher->name, sa->key.auth->name,
				damage);
		assert_true(ops[2].ok && packet_text_ok(&p[2]));
	}
}

// One bit is wrong, in each octet in turn. The packets before and after are of the same session.
static void test_open_damaged(void **state)
{
	(void)state;
	for_each_sa(check_damaged);
}

static void check_upper_half(struct sa *sa)
{
	struct crypto_op op;
	struct packet p;

	for (unsigned int bit = 32; bit < 64; bit++) {
		packet_init(&p, sa, 6, 64);
		oracle_seal(&p);
		op = packet_op(&p, sa->open);
		op.seq ^= UINT64_C(1) << bit;
		crypto_open(&op, 1, 0);
		assert_int_equal(op.ok, !sa->key.esn);
	}
}

// With ESN, and only then, the ICV depends on every bit of the upper half, which is not in the
// packet.
static void test_upper_half(void **state)
{
	(void)state;
	for_each_sa(check_upper_half);
}

static void check_key_octets(struct sa *sa, uint8_t *key, size_t len)
{
	struct crypto_session *s;
	struct packet p;

	for (size_t i = 0; i < len; i++) {
		packet_init(&p, sa, 1, 64);
		oracle_seal(&p);
		key[i] ^= 0x80;
		s = crypto_session_new(&sa->key, CRYPTO_OPEN, sa->engine, 1);
		assert_non_null(s);
		assert_false(open_one(&p, s) && packet_text_ok(&p));
		crypto_session_free(s);
		key[i] ^= 0x80;
	}
}

static void check_wrong_keys(struct sa *sa)
{
	const struct cipher_alg *cipher = sa->key.cipher;

	check_key_octets(sa, sa->cipher_key, cipher->key_len + cipher->salt_len);
	check_key_octets(sa, sa->auth_key, sa->key.auth->key_len);
}

// The result depends on every octet of key and salt.
static void test_open_with_wrong_keys(void **state)
{
	(void)state;
	for_each_sa(check_wrong_keys);
}

#define OPS  256
#define PICK 7 // uses the SAs in another order than they were made

static unsigned int sas_init(struct sa sas[])
{
	unsigned int n = 0;

	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
			if (alg_pair_ok(c, a))
				for (unsigned int esn = 0; esn <= 1; esn++)
					sa_init(&sas[n++], c, a, esn, "auto");
	return n;
}

// SAs of all algorithms in one array, packets of many lengths, some damaged in transit.
static void test_mixed_sas(void **state)
{
	static struct packet packets[OPS];
	struct crypto_op ops[OPS];
	struct sa sas[OPS];
	unsigned int n = sas_init(sas);

	(void)state;
	for (unsigned int i = 0; i < OPS; i++) {
		struct sa *sa = &sas[i * PICK % n];

		packet_init(&packets[i], sa, i + 1, (uint16_t)(16 * (1 + i * 37 % 95)));
		ops[i] = packet_op(&packets[i], sa->seal);
	}
	crypto_seal(ops, OPS, 0);
	for (unsigned int i = 0; i < OPS; i++) {
		assert_true(ops[i].ok);
		assert_true(oracle_open(&packets[i]));
		assert_ptr_equal(ops[i].esp, packets[i].esp);
		ops[i].session = sas[i * PICK % n].open;
		if (i % 5 == 3)
			packet_icv(&packets[i])[-1] ^= 1;
	}
	crypto_open(ops, OPS, 0);
	for (unsigned int i = 0; i < OPS; i++) {
		assert_ptr_equal(ops[i].esp, packets[i].esp);
		assert_int_equal(ops[i].ok, i % 5 != 3);
		if (ops[i].ok)
			assert_true(packet_text_ok(&packets[i]));
	}
	for (unsigned int i = 0; i < n; i++)
		sa_fini(&sas[i]);
}

static void test_no_operations(void **state)
{
	(void)state;
	crypto_seal(NULL, 0, 0);
	crypto_open(NULL, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seal_all_lengths),
		cmocka_unit_test(test_open_all_lengths),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_cbc_ivs),
		cmocka_unit_test(test_cbc_iv_is_no_counter),
		cmocka_unit_test(test_iv_is_masked_sequence_number),
		cmocka_unit_test(test_open_damaged),
		cmocka_unit_test(test_upper_half),
		cmocka_unit_test(test_open_with_wrong_keys),
		cmocka_unit_test(test_mixed_sas),
		cmocka_unit_test(test_no_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
