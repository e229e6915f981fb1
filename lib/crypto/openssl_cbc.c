// SPDX-License-Identifier: BSD-3-Clause
// AES-CBC (RFC 3602) on libcrypto.
//
// To set an IV costs about 200 cycles, so it is never set: all packets that a worker seals or opens
// in a session make one chain. The block in the IV's place goes through the cipher in one call with
// the text. Sealed, it is the IV; opened, it is garbage that is not read. The text after it is
// chained on the IV, as it must be, whatever the IV itself was chained on.

#include <openssl/rand.h>

#include "openssl_session.h"

// The IV is the encryption, under the same key, of a block that is new in every packet (NIST SP
// 800-38A appendix C, first method): the sequence number under a random mask of the session, and
// chained on the ciphertext before. It cannot be predicted without key and mask, as RFC 3602 3
// requires, and does not repeat in another session of the same key.
static bool cbc_seal(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	EVP_CIPHER_CTX *cipher = s->cipher[worker].ctx;
	uint8_t *iv = op->esp + ESP_HEADER_LEN;
	uint64_t block[2] = {s->mask[0] ^ op->seq, s->mask[1]};
	int len = CBC_IV_LEN + op->text_len;

	memcpy(iv, block, sizeof(block));
	if (EVP_EncryptUpdate(cipher, iv, &len, iv, len) != 1)
		return false;
	openssl_icv_put(s, op, ESP_HEADER_LEN + CBC_IV_LEN + op->text_len);
	return true;
}

static bool cbc_open(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	EVP_CIPHER_CTX *cipher = s->cipher[worker].ctx;
	uint8_t *iv = op->esp + ESP_HEADER_LEN;
	int len = CBC_IV_LEN + op->text_len;

	return openssl_icv_ok(s, op, ESP_HEADER_LEN + CBC_IV_LEN + op->text_len) &&
	       EVP_DecryptUpdate(cipher, iv, &len, iv, len) == 1;
}

bool openssl_cbc_init(struct session *s, const struct crypto_key *key, enum crypto_dir dir)
{
	static const uint8_t iv[CBC_IV_LEN]; // where a chain begins does not matter

	s->run = dir == CRYPTO_SEAL ? cbc_seal : cbc_open;
	if (!openssl_ciphers_init(s, "AES-%u-CBC", key, dir, iv))
		return false;
	for (unsigned int i = 0; i < s->n_workers; i++)
		if (EVP_CIPHER_CTX_set_padding(s->cipher[i].ctx, 0) != 1)
			return false;
	return RAND_bytes((uint8_t *)s->mask, sizeof(s->mask)) == 1;
}
