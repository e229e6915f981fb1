// SPDX-License-Identifier: BSD-3-Clause
// AES-CTR (RFC 3686) on libcrypto: salt, IV and a block counter, which begins with 1, make the
// counter block.

#include "openssl_session.h"

#define COUNTER_BLOCK_LEN (NONCE_LEN + 4)

// Decryption is the same as encryption.
static bool crypt_text(const struct session *s, struct crypto_op *op, unsigned int worker,
	uint8_t block[COUNTER_BLOCK_LEN])
{
	EVP_CIPHER_CTX *cipher = s->cipher[worker].ctx;
	uint8_t *text = op->esp + ESP_HEADER_LEN + COUNTER_IV_LEN;
	int len;

	memcpy(block + NONCE_LEN, (const uint8_t[]){0, 0, 0, 1}, 4);
	return EVP_EncryptInit_ex2(cipher, NULL, NULL, block, NULL) == 1 &&
	       EVP_EncryptUpdate(cipher, text, &len, text, op->text_len) == 1;
}

static bool ctr_seal(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	uint8_t block[COUNTER_BLOCK_LEN];

	openssl_nonce_begin(block, s, op);
	if (!crypt_text(s, op, worker, block))
		return false;
	openssl_icv_put(s, op, ESP_HEADER_LEN + COUNTER_IV_LEN + op->text_len);
	return true;
}

static bool ctr_open(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	uint8_t block[COUNTER_BLOCK_LEN];

	if (!openssl_icv_ok(s, op, ESP_HEADER_LEN + COUNTER_IV_LEN + op->text_len))
		return false;
	openssl_nonce_read(block, s, op);
	return crypt_text(s, op, worker, block);
}

bool openssl_ctr_init(struct session *s, const struct crypto_key *key, enum crypto_dir dir)
{
	static const uint8_t block[COUNTER_BLOCK_LEN]; // set for each packet

	s->run = dir == CRYPTO_SEAL ? ctr_seal : ctr_open;
	return openssl_ciphers_init(s, "AES-%u-CTR", key, CRYPTO_SEAL, block);
}
