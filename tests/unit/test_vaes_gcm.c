// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM of vaes_gcm.h against libcrypto, for texts of all lengths of a few groups and of some up
// to the longest: sealed and opened in place and elsewhere, nothing else is written. Texts end with
// their memory, so that a sanitizer sees if more is read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <openssl/evp.h>

#include "vaes_gcm.h"

#define TEXT_MAX 65532
#define GUARD    0x5a

static IMB_MGR *library;

static uint32_t draw(void)
{
	static uint64_t x = 1;

	x = x * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(x >> 32);
}

static void fill(uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)draw();
}

struct packet {
	uint8_t key[32], iv[16], aad[AEAD_ICV_MAX];
	size_t key_len, aad_len, icv_len, len;
	uint8_t *text, *sealed; // of libcrypto
	uint8_t icv[AEAD_ICV_MAX];
};

static void oracle_seal(struct packet *p)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	const EVP_CIPHER *cipher = p->key_len == 16   ? EVP_aes_128_gcm()
				   : p->key_len == 24 ? EVP_aes_192_gcm()
						      : EVP_aes_256_gcm();
	int len;

	assert_int_equal(EVP_EncryptInit_ex(c, cipher, NULL, p->key, p->iv), 1);
	assert_int_equal(EVP_EncryptUpdate(c, NULL, &len, p->aad, (int)p->aad_len), 1);
	assert_int_equal(EVP_EncryptUpdate(c, p->sealed, &len, p->text, (int)p->len), 1);
	assert_int_equal(EVP_EncryptFinal_ex(c, p->sealed + len, &len), 1);
	assert_int_equal(
		EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, (int)sizeof(p->icv), p->icv), 1);
	EVP_CIPHER_CTX_free(c);
}

static void key_make(struct gcm_key_data *key, const struct packet *p)
{
	if (p->key_len == 16)
		library->gcm128_pre(p->key, key);
	else if (p->key_len == 24)
		library->gcm192_pre(p->key, key);
	else
		library->gcm256_pre(p->key, key);
	vaes_gcm_key(key, (uint32_t)p->key_len);
}

// in is processed to out, which is wanted then; in place if they are the same.
static void run(const struct packet *p, const struct gcm_key_data *key, aes_gcm_enc_dec_t crypt,
	uint8_t *out, const uint8_t *in, const uint8_t *wanted)
{
	struct gcm_context_data unused;
	uint8_t icv[AEAD_ICV_MAX + 1];

	memset(icv, GUARD, sizeof(icv));
	crypt(key, &unused, out, in, p->len, p->iv, p->aad, p->aad_len, icv, p->icv_len);
	assert_memory_equal(out, wanted, p->len);
	assert_memory_equal(icv, p->icv, p->icv_len);
	assert_int_equal(icv[p->icv_len], GUARD);
}

// Memory that ends after len octets, and at an odd address if len is even.
static uint8_t *memory_new(size_t len)
{
	return (uint8_t *)malloc(len + 1) + 1;
}

static void memory_free(uint8_t *memory)
{
	free(memory - 1);
}

static void check(size_t len)
{
	struct packet p = {.key_len = 16 + 8 * (draw() % 3),
		.aad_len = 8 + 4 * (draw() % 2),
		.icv_len = 8 + 4 * (draw() % 3),
		.len = len,
		.text = memory_new(len),
		.sealed = memory_new(len)};
	const aes_gcm_enc_dec_t seal = vaes_gcm_seal((uint32_t)p.key_len);
	const aes_gcm_enc_dec_t open = vaes_gcm_open((uint32_t)p.key_len);
	uint8_t *out = memory_new(len + 1);
	alignas(16) struct gcm_key_data key;

	fill(p.key, sizeof(p.key));
	fill(p.iv, sizeof(p.iv)); // octets that do not count, too
	fill(p.aad, sizeof(p.aad));
	fill(p.text, len);
	oracle_seal(&p);
	key_make(&key, &p);
	out[len] = GUARD;
	run(&p, &key, seal, out, p.text, p.sealed);
	run(&p, &key, open, out, p.sealed, p.text);
	run(&p, &key, seal, out, out, p.sealed);
	run(&p, &key, open, out, out, p.text);
	assert_int_equal(out[len], GUARD);
	memory_free(p.text);
	memory_free(p.sealed);
	memory_free(out);
}

static const uint64_t needed = IMB_CPUFLAGS_AVX2 | IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;

static void test_short(void **state)
{
	(void)state;
	if ((imb_get_feature_flags() & needed) != needed)
		skip();
	for (unsigned int i = 0; i < 8; i++)
		for (size_t len = 0; len < 1100; len += 4)
			check(len);
}

static void test_long(void **state)
{
	(void)state;
	if ((imb_get_feature_flags() & needed) != needed)
		skip();
	check(TEXT_MAX);
	for (unsigned int i = 0; i < 200; i++)
		check(draw() % (TEXT_MAX + 1) & ~(size_t)3);
}

// Where the library has nothing by VAES, which its release 2.0 has for some processors.
static void test_fits(void **state)
{
	const bool old = IMB_VERSION_NUM < IMB_VERSION(2, 0, 0);
	const uint64_t zen3 = needed | IMB_FEATURE_SHANI, alder_lake = zen3 | IMB_FEATURE_GFNI;

	(void)state;
	assert_true(vaes_gcm_fits(zen3));
	assert_int_equal(vaes_gcm_fits(alder_lake), old);
	assert_false(vaes_gcm_fits(IMB_CPUFLAGS_AVX512_T2));
	assert_true(vaes_gcm_fits(IMB_CPUFLAGS_AVX512_T2 & ~IMB_FEATURE_GFNI));
	for (unsigned int bit = 0; bit < 64; bit++)
		if ((needed >> bit & 1) != 0)
			assert_false(vaes_gcm_fits(zen3 & ~(UINT64_C(1) << bit)));
#ifdef IMB_CPUFLAGS_AVX2_T4
	assert_true(vaes_gcm_fits(IMB_CPUFLAGS_AVX2_T3)); // Sierra Forest
	assert_false(vaes_gcm_fits(IMB_CPUFLAGS_AVX2_T4));
#endif
}

static int library_begin(void **state)
{
	(void)state;
	library = alloc_mb_mgr(0);
	if (library == NULL)
		return -1;
	init_mb_mgr_auto(library, NULL);
	return 0;
}

static int library_end(void **state)
{
	(void)state;
	free_mb_mgr(library);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests_name("vaes_gcm", tests, library_begin, library_end);
}
