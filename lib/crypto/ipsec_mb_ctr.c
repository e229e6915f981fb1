// SPDX-License-Identifier: BSD-3-Clause
// AES-CTR (RFC 3686) on ipsec-mb: one cipher burst for the whole lot. Salt, IV and a block counter,
// which begins with 1, make the counter block.

#include <string.h>

#include <openssl/crypto.h>

#include "ipsec_mb.h"

// Encryption is the same as decryption.
static void ctr_job(struct imb_worker *w, unsigned int i, const struct crypto_op *op, uint64_t iv)
{
	const struct imb_session *s = imb_session_of(op);
	__m128i one = _mm_set_epi32((int32_t)rte_cpu_to_be_32(1), 0, 0, 0);
	IMB_JOB *j = &w->job[i];

	w->counter_block[i] = _mm_or_si128(imb_nonce(s, iv), one);
	j->enc_keys = s->round_keys;
	j->src = op->esp;
	j->cipher_start_src_offset_in_bytes = ESP_HEADER_LEN + COUNTER_IV_LEN;
	j->dst = op->esp + ESP_HEADER_LEN + COUNTER_IV_LEN;
	j->msg_len_to_cipher_in_bytes = op->text_len;
	j->iv = (const uint8_t *)&w->counter_block[i];
}

static void ctr_encrypt(
	struct imb_worker *w, struct crypto_op *const lot[], unsigned int n, size_t octets)
{
	const struct imb_session *first = imb_session_of(lot[0]);

	(void)octets; // no packet waits for lanes
	for (unsigned int i = 0; i < n; i++) {
		const struct crypto_op *op = lot[i];
		rte_be64_t counter = imb_counter_iv(imb_session_of(op), op);

		memcpy(op->esp + ESP_HEADER_LEN, &counter, sizeof(counter));
		ctr_job(w, i, op, counter);
	}
	IMB_SUBMIT_CIPHER_BURST_NOCHECK(
		w->best, w->job, n, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT, first->key_len);
}

static void ctr_decrypt(
	struct imb_worker *w, struct crypto_op *const lot[], unsigned int n, size_t octets)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	unsigned int n_jobs = 0;

	(void)octets;
	for (unsigned int i = 0; i < n; i++) {
		uint64_t iv;

		if (!lot[i]->ok)
			continue;
		memcpy(&iv, lot[i]->esp + ESP_HEADER_LEN, sizeof(iv));
		ctr_job(w, n_jobs++, lot[i], iv);
	}
	IMB_SUBMIT_CIPHER_BURST_NOCHECK(
		w->best, w->job, n_jobs, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT, first->key_len);
}

bool imb_ctr_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	alignas(16) uint8_t unused[sizeof(s->round_keys)];

	imb_null_init(s, key, dir, w);
	imb_keys_expand(s, key, w, s->round_keys, unused);
	OPENSSL_cleanse(unused, sizeof(unused));
	s->crypt = dir == CRYPTO_SEAL ? ctr_encrypt : ctr_decrypt;
	return true;
}
