// SPDX-License-Identifier: BSD-3-Clause
// Making crypto sessions, also without memory. Proves that packets allocate none.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <openssl/crypto.h>

#include "crypto_oracle.h"

// Allocations of libcrypto, and how many more succeed (-1: all).
static int allocs, allocs_left = -1;

static bool alloc_fails(void)
{
	allocs++;
	if (allocs_left > 0)
		allocs_left--;
	return allocs_left == 0;
}

static void *libcrypto_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return alloc_fails() ? NULL : malloc(size);
}

static void *libcrypto_realloc(void *p, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return alloc_fails() ? NULL : realloc(p, size);
}

static void libcrypto_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

static void check_not_supported(const char *cipher, const char *auth, const char *engine)
{
	static const uint8_t octets[CRYPTO_CIPHER_KEY_MAX];
	const struct crypto_key key = {
		cipher_alg_find(cipher), auth_alg_find(auth), octets, octets, false, 0};

	errno = 0;
	assert_null(crypto_session_new(&key, CRYPTO_SEAL, engine, 1));
	assert_int_equal(errno, ENOTSUP);
}

static void test_not_supported(void **state)
{
	(void)state;
	check_not_supported("aes-128-cbc", "hmac-sha1-96", "nonesuch");
	check_not_supported("aes-128-cbc", "hmac-sha1-96", "");
	check_not_supported("aes-128-cbc", "none", "auto");
	check_not_supported("null", "none", "auto");
	check_not_supported("aes-128-ctr", "none", "auto");
	check_not_supported("aes-128-gcm", "hmac-sha1-96", "openssl");
	check_not_supported("aes-128-gmac", "hmac-sha2-512-256", "openssl");
}

static void check_engine(struct sa *sa)
{
	const struct cipher_alg *cipher = sa->key.cipher;
	const char *wanted = sa->engine;

	if (strcmp(wanted, "auto") == 0) {
		bool faster = crypto_engine_built_in("ipsec_mb") &&
			      engine_has("ipsec_mb", cipher, sa->key.auth, sa->key.esn);

		wanted = faster ? "ipsec_mb" : "openssl";
		assert_true(faster || cipher->mode == CIPHER_CHACHA20 ||
			    !crypto_engine_built_in("ipsec_mb"));
	}
	assert_string_equal(crypto_session_engine(sa->seal), wanted);
	assert_string_equal(crypto_session_engine(sa->open), wanted);
}

// "auto" is the first engine that has the algorithms: ipsec_mb, with ChaCha20 on some processors.
static void test_engine(void **state)
{
	(void)state;
	for_each_sa(check_engine);
}

static void check_no_memory_taken(struct sa *sa)
{
	struct crypto_op op;
	struct packet p;

	for (unsigned int i = 0; i < 10; i++) {
		packet_init(&p, sa, i, 512);
		allocs = 0;
		op = packet_op(&p, sa->seal);
		crypto_seal(&op, 1, 0);
		assert_true(op.ok);
		packet_icv(&p)[0] ^= i % 2;
		op = packet_op(&p, sa->open);
		crypto_open(&op, 1, 0);
		assert_int_equal(op.ok, i % 2 == 0);
		assert_int_equal(allocs, 0);
	}
}

// Also not for packets with a wrong ICV.
static void test_packets_take_no_memory(void **state)
{
	(void)state;
	for_each_sa(check_no_memory_taken);
}

static void check_out_of_memory(struct sa *sa)
{
	struct crypto_session *s = NULL;
	int n;

	for (n = 0; s == NULL; n++) {
		errno = 0;
		allocs_left = n + 1;
		s = crypto_session_new(&sa->key, CRYPTO_SEAL, "openssl", 1);
		allocs_left = -1;
		if (s == NULL)
			assert_int_equal(errno, ENOMEM);
	}
	crypto_session_free(s);
	if (sa->key.cipher->mode != CIPHER_NULL)
		assert_in_range(n, 2, 100);
}

// Each allocation of libcrypto fails in turn, until there is enough for a session.
static void test_out_of_memory(void **state)
{
	(void)state;
	for_each_sa(check_out_of_memory);
}

static void test_free_null(void **state)
{
	(void)state;
	crypto_session_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_supported),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_packets_take_no_memory),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_free_null),
	};

	if (CRYPTO_set_mem_functions(libcrypto_malloc, libcrypto_realloc, libcrypto_free) != 1)
		return EXIT_FAILURE;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
