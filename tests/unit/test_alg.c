// SPDX-License-Identifier: BSD-3-Clause
// Names and limits of the algorithm tables.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "alg.h"

static void check_cipher(const char *spelling, const char *name)
{
	const struct cipher_alg *a = cipher_alg_find(spelling);

	assert_non_null(a);
	assert_string_equal(a->name, name);
}

static void check_auth(const char *spelling, const char *name)
{
	const struct auth_alg *a = auth_alg_find(spelling);

	assert_non_null(a);
	assert_string_equal(a->name, name);
}

static void test_names(void **state)
{
	(void)state;
	check_cipher("null", "null");
	check_cipher("aes-192-cbc", "aes-192-cbc");
	check_cipher("AES-256-CBC", "aes-256-cbc");
	check_auth("none", "none");
	check_auth("HMAC-SHA1-96", "hmac-sha1-96");
}

static void test_aliases(void **state)
{
	(void)state;
	check_cipher("ENCR_NULL", "null");
	check_cipher("aes128", "aes-128-cbc");
	check_cipher("AES-CBC-256", "aes-256-cbc");
	check_cipher("aes128gcm16", "aes-128-gcm");
	check_cipher("AES192GCM128", "aes-192-gcm");
	check_cipher("aes-gcm-128", "aes-128-gcm");
	check_cipher("aes256gcm8", "aes-256-gcm-8");
	check_cipher("aes128gcm96", "aes-128-gcm-12");
	check_cipher("aes-gcm-12-192", "aes-192-gcm-12");
	check_cipher("aes-192-gcm-16", "aes-192-gcm");
	check_cipher("aes192ctr", "aes-192-ctr");
	check_cipher("aes256gmac", "aes-256-gmac");
	check_cipher("chacha20poly1305", "chacha20-poly1305");
	check_cipher("ENCR_CHACHA20_POLY1305", "chacha20-poly1305");
	check_auth("sha384", "hmac-sha2-384-192");
	check_auth("AUTH_HMAC_SHA2_512_256", "hmac-sha2-512-256");
	check_auth("sha1", "hmac-sha1-96");
	check_auth("SHA256", "hmac-sha2-256-128");
	check_auth("AUTH_HMAC_SHA1_96", "hmac-sha1-96");
	check_auth("auth_hmac_sha2_256_128", "hmac-sha2-256-128");
}

static void test_unknown_names(void **state)
{
	// Empty, ambiguous, parts of aliases, and several of them.
	static const char *const names[] = {"", " ", "ENCR_AES_CBC", "aes", "aes128gcm1",
		"aes128gcm160", "aes128 AES-CBC-128", "sha", "md5", "aes-128-gcm-4", "aes128ccm16",
		"chacha20"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(cipher_alg_find(names[i]));
	assert_null(auth_alg_find(""));
	assert_null(auth_alg_find("sha2"));
	assert_null(auth_alg_find("aes128"));
}

static void test_names_are_unique(void **state)
{
	(void)state;
	for (const struct cipher_alg *a = cipher_algs; a->name != NULL; a++)
		assert_ptr_equal(cipher_alg_find(a->name), a);
	for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
		assert_ptr_equal(auth_alg_find(a->name), a);
}

static void test_limits(void **state)
{
	(void)state;
	for (const struct cipher_alg *a = cipher_algs; a->name != NULL; a++) {
		assert_in_range(a->key_len + a->salt_len, 0, CRYPTO_CIPHER_KEY_MAX);
		assert_in_range(a->iv_len, 0, CRYPTO_IV_MAX);
		assert_in_range(a->icv_len, 0, CRYPTO_ICV_MAX);
		assert_int_equal(a->block % 4, 0); // RFC 4303 2.4
		assert_in_range(a->block, 4, 16);
	}
	for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
		assert_in_range(a->key_len, 0, CRYPTO_AUTH_KEY_MAX);
		assert_in_range(a->icv_len, 0, CRYPTO_ICV_MAX);
	}
}

static bool pair_ok(const char *cipher, const char *auth)
{
	return alg_pair_ok(cipher_alg_find(cipher), auth_alg_find(auth));
}

static void test_pairs(void **state)
{
	(void)state;
	assert_true(pair_ok("null", "sha1"));
	assert_true(pair_ok("aes128", "sha256"));
	assert_true(pair_ok("aes128gcm16", "none"));
	assert_true(pair_ok("aes256ctr", "sha512"));
	assert_true(pair_ok("aes256gmac", "none"));
	assert_true(pair_ok("chacha20poly1305", "none"));
	assert_false(pair_ok("aes256ctr", "none"));
	assert_false(pair_ok("aes256gmac", "sha1"));
	assert_false(pair_ok("null", "none"));
	assert_false(pair_ok("aes128", "none"));
	assert_false(pair_ok("aes128gcm16", "sha1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_unknown_names),
		cmocka_unit_test(test_names_are_unique),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
