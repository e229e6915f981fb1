// SPDX-License-Identifier: BSD-3-Clause
// The engine on libcrypto 3.0: every algorithm, on every processor, and the reference for the other
// engines. Work for a session is not repeated for each packet: ciphers stay keyed, HMACs start from
// saved states, IVs are made at the least cost.

#include <stdio.h>

#include "openssl_session.h"

static bool null_seal(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	(void)worker;
	openssl_icv_put(s, op, ESP_HEADER_LEN + op->text_len);
	return true;
}

static bool null_open(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	(void)worker;
	return openssl_icv_ok(s, op, ESP_HEADER_LEN + op->text_len);
}

bool openssl_null_init(struct session *s, const struct crypto_key *key, enum crypto_dir dir)
{
	(void)key;
	s->run = dir == CRYPTO_SEAL ? null_seal : null_open;
	return true;
}

static EVP_CIPHER_CTX *cipher_new(
	EVP_CIPHER *alg, const struct crypto_key *key, enum crypto_dir dir, const uint8_t *iv)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	bool seal = dir == CRYPTO_SEAL;

	if (c == NULL || EVP_CipherInit_ex2(c, alg, key->cipher_key, iv, seal, NULL) != 1) {
		EVP_CIPHER_CTX_free(c);
		return NULL;
	}
	return c;
}

bool openssl_ciphers_init(struct session *s, const char *format, const struct crypto_key *key,
	enum crypto_dir dir, const uint8_t *iv)
{
	EVP_CIPHER *alg;
	char name[32];
	bool ok;

	snprintf(name, sizeof(name), format, 8u * key->cipher->key_len);
	alg = EVP_CIPHER_fetch(NULL, name, NULL);
	ok = alg != NULL;
	for (unsigned int i = 0; ok && i < s->n_workers; i++) {
		s->cipher[i].ctx = cipher_new(alg, key, dir, iv);
		ok = s->cipher[i].ctx != NULL;
	}
	EVP_CIPHER_free(alg);
	return ok;
}

// By enum cipher_mode.
static bool (*const cipher_init[])(
	struct session *s, const struct crypto_key *key, enum crypto_dir dir) = {
#define CIPHER_MODE(mode, openssl, ...) openssl_##openssl##_init,
#include "cipher_mode.def"
};

static bool supports(const struct crypto_key *key)
{
	(void)key;
	return true;
}

static void session_fini(struct crypto_session *base)
{
	struct session *s = (struct session *)base;

	for (unsigned int i = 0; i < s->n_workers; i++)
		EVP_CIPHER_CTX_free(s->cipher[i].ctx);
}

static bool session_init(struct crypto_session *base, const struct crypto_key *key,
	enum crypto_dir dir, unsigned int n_workers)
{
	const struct cipher_alg *cipher = key->cipher;
	const struct auth_alg *auth = key->auth;
	struct session *s = (struct session *)base;

	s->n_workers = n_workers;
	s->icv_len = alg_pair_icv_len(cipher, auth);
	s->esn_len = key->esn ? 4 : 0;
	s->mask[0] = key->iv_mask;
	if (cipher->salt_len > 0)
		memcpy(s->salt, key->cipher_key + cipher->key_len, SALT_LEN);
	if (auth->mode != AUTH_NONE) {
		s->hmac = hmac_algs[auth->mode].hmac;
		hmac_key_init(auth->mode, &s->hmac_key, key->auth_key, auth->key_len);
	}
	return cipher_init[cipher->mode](s, key, dir);
}

static void run(struct crypto_op *const lot[], unsigned int n, unsigned int worker)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct session *s = (const struct session *)lot[i]->session;

		lot[i]->ok = s->run(s, lot[i], worker);
	}
}

const struct crypto_engine crypto_engine_openssl = {
	.name = "openssl",
	.supports = supports,
	.session_size = sizeof(struct session),
	.worker_size = sizeof(struct cipher),
	.session_init = session_init,
	.session_fini = session_fini,
	.run = run,
};
