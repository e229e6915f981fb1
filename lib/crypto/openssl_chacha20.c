// SPDX-License-Identifier: BSD-3-Clause
// ChaCha20 with Poly1305 (RFC 7634) on libcrypto.

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "openssl_session.h"

static bool chacha20_seal(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	EVP_CIPHER_CTX *cipher = s->cipher[worker].ctx;
	uint8_t *text = op->esp + ESP_HEADER_LEN + COUNTER_IV_LEN;
	uint8_t *icv = text + op->text_len;
	uint8_t nonce[NONCE_LEN];
	OSSL_PARAM out[] = {
		OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, icv, s->icv_len),
		OSSL_PARAM_END,
	};
	uint8_t buf[AAD_MAX];
	const uint8_t *aad = openssl_aad(buf, s, op);
	int len;

	openssl_nonce_begin(nonce, s, op);
	return EVP_EncryptInit_ex2(cipher, NULL, NULL, nonce, NULL) == 1 &&
	       EVP_EncryptUpdate(cipher, NULL, &len, aad, openssl_aad_len(s)) == 1 &&
	       EVP_EncryptUpdate(cipher, text, &len, text, op->text_len) == 1 &&
	       EVP_EncryptFinal_ex(cipher, icv, &len) == 1 &&
	       EVP_CIPHER_CTX_get_params(cipher, out) == 1;
}

static bool chacha20_open(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	EVP_CIPHER_CTX *cipher = s->cipher[worker].ctx;
	uint8_t *text = op->esp + ESP_HEADER_LEN + COUNTER_IV_LEN;
	uint8_t *icv = text + op->text_len;
	uint8_t nonce[NONCE_LEN];
	const OSSL_PARAM in[] = {
		OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, icv, s->icv_len),
		OSSL_PARAM_END,
	};
	uint8_t buf[AAD_MAX];
	const uint8_t *aad = openssl_aad(buf, s, op);
	int len;

	openssl_nonce_read(nonce, s, op);
	return EVP_DecryptInit_ex2(cipher, NULL, NULL, nonce, in) == 1 &&
	       EVP_DecryptUpdate(cipher, NULL, &len, aad, openssl_aad_len(s)) == 1 &&
	       EVP_DecryptUpdate(cipher, text, &len, text, op->text_len) == 1 &&
	       EVP_DecryptFinal_ex(cipher, icv, &len) == 1; // compares the ICV
}

bool openssl_chacha20_init(struct session *s, const struct crypto_key *key, enum crypto_dir dir)
{
	static const uint8_t nonce[NONCE_LEN]; // set for each packet

	s->run = dir == CRYPTO_SEAL ? chacha20_seal : chacha20_open;
	return openssl_ciphers_init(s, "ChaCha20-Poly1305", key, dir, nonce);
}
