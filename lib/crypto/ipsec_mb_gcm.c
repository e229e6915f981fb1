// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (RFC 4106) on ipsec-mb: its direct functions, packet by packet.

#include <string.h>

#include <rte_byteorder.h>

#include "ipsec_mb.h"

struct nonce {
	uint8_t salt[GCM_SALT_LEN];
	uint8_t iv[GCM_IV_LEN];
};

static void gcm_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;
	aes_gcm_enc_dec_t encrypt = first->key_len == IMB_KEY_128_BYTES   ? w->best->gcm128_enc
				    : first->key_len == IMB_KEY_192_BYTES ? w->best->gcm192_enc
									  : w->best->gcm256_enc;

	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const struct imb_session *s = (const struct imb_session *)op->session;
		rte_be64_t seq = rte_cpu_to_be_64(op->seq);
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = iv + GCM_IV_LEN;
		struct nonce nonce;

		memcpy(iv, &seq, GCM_IV_LEN);
		memcpy(nonce.salt, s->salt, GCM_SALT_LEN);
		memcpy(nonce.iv, &seq, GCM_IV_LEN);
		encrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			op->esp, ESP_HEADER_LEN, text + op->text_len, GCM_ICV_LEN);
		op->ok = true;
	}
}

static void gcm_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;
	aes_gcm_enc_dec_t decrypt = first->key_len == IMB_KEY_128_BYTES   ? w->best->gcm128_dec
				    : first->key_len == IMB_KEY_192_BYTES ? w->best->gcm192_dec
									  : w->best->gcm256_dec;

	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const struct imb_session *s = (const struct imb_session *)op->session;
		const uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = op->esp + ESP_HEADER_LEN + GCM_IV_LEN;
		uint8_t icv[GCM_ICV_LEN];
		struct nonce nonce;

		memcpy(nonce.salt, s->salt, GCM_SALT_LEN);
		memcpy(nonce.iv, iv, GCM_IV_LEN);
		decrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			op->esp, ESP_HEADER_LEN, icv, GCM_ICV_LEN);
		op->ok = imb_icv_equal(icv, text + op->text_len);
	}
}

bool imb_gcm_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	aes_gcm_pre_t expand = s->key_len == IMB_KEY_128_BYTES   ? w->best->gcm128_pre
			       : s->key_len == IMB_KEY_192_BYTES ? w->best->gcm192_pre
								 : w->best->gcm256_pre;

	expand(key->cipher_key, &s->gcm);
	memcpy(s->salt, key->cipher_key + s->key_len, GCM_SALT_LEN);
	s->run = dir == CRYPTO_SEAL ? gcm_seal : gcm_open;
	return true;
}
