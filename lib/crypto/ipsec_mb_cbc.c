// SPDX-License-Identifier: BSD-3-Clause
// AES-CBC (RFC 3602) on ipsec-mb: one cipher burst for the whole lot.
//
// The IV is the encryption, under the same key, of a block that is new in every packet (NIST SP
// 800-38A appendix C, first method): the sequence number under a random mask of the session. It
// cannot be predicted without key and mask, as RFC 3602 3 requires, and does not repeat in another
// session of the same key. The block goes through the cipher in the IV's place, in front of the
// text, itself chained on zeros.

#include <string.h>

#include <openssl/rand.h>

#include "aes_cbc.h"
#include "ipsec_mb.h"

#define MANY  8   // packets, see imb_manager()
#define SHORT 128 // octets: of shorter packets, however many, 8 lanes encrypt more than 16

static const uint8_t zeros[CBC_IV_LEN];

static void cbc_encrypt(
	struct imb_worker *w, struct crypto_op *const lot[], unsigned int n, size_t octets)
{
	const struct imb_session *first = imb_session_of(lot[0]);

	for (unsigned int i = 0; i < n; i++) {
		const struct crypto_op *op = lot[i];
		const struct imb_session *s = imb_session_of(op);
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint64_t block[2] = {s->mask ^ op->seq, s->mask_high};
		IMB_JOB *j = &w->job[i];

		memcpy(iv, block, sizeof(block));
		j->enc_keys = s->round_keys;
		j->src = op->esp;
		j->cipher_start_src_offset_in_bytes = ESP_HEADER_LEN;
		j->dst = iv;
		j->msg_len_to_cipher_in_bytes = CBC_IV_LEN + op->text_len;
		j->iv = zeros;
	}
	if (n == 1)
		aes_cbc_encrypt(first->round_keys, first->key_len / 4 + 6,
			lot[0]->esp + ESP_HEADER_LEN, CBC_IV_LEN + lot[0]->text_len);
	else
		IMB_SUBMIT_CIPHER_BURST_NOCHECK(
			octets < n * SHORT ? w->few : imb_manager(w, n, octets, MANY), w->job, n,
			IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, first->key_len);
}

static void cbc_decrypt(
	struct imb_worker *w, struct crypto_op *const lot[], unsigned int n, size_t octets)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	unsigned int n_jobs = 0;

	(void)octets; // no packet waits for lanes
	for (unsigned int i = 0; i < n; i++) {
		const struct crypto_op *op = lot[i];
		const struct imb_session *s = imb_session_of(op);
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		IMB_JOB *j = &w->job[n_jobs];

		if (!op->ok)
			continue;
		j->dec_keys = s->round_keys;
		j->src = iv;
		j->cipher_start_src_offset_in_bytes = CBC_IV_LEN;
		j->dst = iv + CBC_IV_LEN;
		j->msg_len_to_cipher_in_bytes = op->text_len;
		j->iv = iv;
		n_jobs++;
	}
	IMB_SUBMIT_CIPHER_BURST_NOCHECK(
		w->best, w->job, n_jobs, IMB_CIPHER_CBC, IMB_DIR_DECRYPT, first->key_len);
}

bool imb_cbc_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	alignas(16) uint8_t other[sizeof(s->round_keys)];

	imb_null_init(s, key, dir, w);
	if (dir == CRYPTO_SEAL)
		imb_keys_expand(s, key, w, s->round_keys, other);
	else
		imb_keys_expand(s, key, w, other, s->round_keys);
	OPENSSL_cleanse(other, sizeof(other));
	s->crypt = dir == CRYPTO_SEAL ? cbc_encrypt : cbc_decrypt;
	return RAND_bytes((uint8_t *)&s->mask, sizeof(s->mask)) == 1 &&
	       RAND_bytes((uint8_t *)&s->mask_high, sizeof(s->mask_high)) == 1;
}
