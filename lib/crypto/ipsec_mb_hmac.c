// SPDX-License-Identifier: BSD-3-Clause
// AES-CBC or no cipher, with HMAC, on ipsec-mb: the whole lot goes through one cipher burst and one
// hash burst, each packet in a lane of its own.

#include <string.h>

#include <openssl/rand.h>

#include <rte_prefetch.h>

#include "aes_cbc.h"
#include "ipsec_mb.h"

static const uint8_t zeros[CBC_IV_LEN];

// Fewer packets are many only if they are long: wide vectors take as long for one lane as for 16.
#define LANES       16
#define MANY_OCTETS 4096

static IMB_MGR *manager(
	const struct imb_worker *w, unsigned int n, size_t octets, unsigned int many)
{
	return n >= LANES || (n >= many && octets >= MANY_OCTETS) ? w->many : w->few;
}

// What of the ESP packet the ICV covers, in octets.
static size_t covered(const struct imb_session *s, const struct crypto_op *op)
{
	return ESP_HEADER_LEN + (s->key_len > 0 ? CBC_IV_LEN : 0) + op->text_len;
}

// The keys of many SAs are in no cache.
static void fetch_keys(struct crypto_op *const lot[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct imb_session *s = (const struct imb_session *)lot[i]->session;

		rte_prefetch0(&s->hmac_key);
		for (unsigned int k = 0; k < s->key_len / 4 + 7; k += RTE_CACHE_LINE_SIZE / 16)
			rte_prefetch0(&s->round_keys[k]);
	}
}

static void hash_job(IMB_JOB *j, const struct crypto_op *op, uint8_t *icv)
{
	const struct imb_session *s = (const struct imb_session *)op->session;

	j->src = op->esp;
	j->msg_len_to_hash_in_bytes = covered(s, op);
	j->auth_tag_output = icv;
	j->auth_tag_output_len_in_bytes = s->icv_len;
	j->u.HMAC._hashed_auth_key_xor_ipad = (const uint8_t *)s->hmac_key.of32.inner;
	j->u.HMAC._hashed_auth_key_xor_opad = (const uint8_t *)s->hmac_key.of32.outer;
}

static void hash(struct imb_worker *w, unsigned int n, size_t octets, IMB_HASH_ALG alg)
{
	IMB_MGR *m = manager(w, n, octets, alg == IMB_AUTH_HMAC_SHA_1 ? 8 : 12);

	IMB_SUBMIT_HASH_BURST_NOCHECK(m, w->job, n, alg);
}

// AES-CBC
//
// The IV is the encryption, under the same key, of a block that is new in every packet (NIST SP
// 800-38A appendix C, first method): the sequence number under a random mask of the session. Who
// knows neither key nor mask cannot foretell it, as RFC 3602 3 demands, nor does it repeat in
// another session of the same key. The block goes through the cipher in the IV's place, in front of
// the text, itself chained on zeros.

static void encrypt(
	struct imb_worker *w, struct crypto_op *const lot[], unsigned int n, size_t octets)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;

	for (unsigned int i = 0; i < n; i++) {
		const struct crypto_op *op = lot[i];
		const struct imb_session *s = (const struct imb_session *)op->session;
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint64_t block[2] = {s->mask[0] ^ op->seq, s->mask[1]};
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
		IMB_SUBMIT_CIPHER_BURST_NOCHECK(manager(w, n, octets, 8), w->job, n, IMB_CIPHER_CBC,
			IMB_DIR_ENCRYPT, first->key_len);
}

static void decrypt(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;
	unsigned int n_jobs = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct crypto_op *op = lot[i];
		const struct imb_session *s = (const struct imb_session *)op->session;
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

static void hmac_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;
	size_t octets = 0;

	fetch_keys(lot, n);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		size_t len = covered(first, op);

		hash_job(&w->job[i], op, op->esp + len);
		octets += len;
		op->ok = true;
	}
	if (first->key_len > 0)
		encrypt(w, lot, n, octets);
	hash(w, n, octets, first->hash);
}

static void hmac_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;
	size_t octets = 0;

	fetch_keys(lot, n);
	for (unsigned int i = 0; i < n; i++) {
		hash_job(&w->job[i], lot[i], w->icv[i]);
		octets += covered(first, lot[i]);
	}
	hash(w, n, octets, first->hash);
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *received = lot[i]->esp + covered(first, lot[i]);

		lot[i]->ok = imb_icv_equal(w->icv[i], received, first->icv_len);
	}
	if (first->key_len > 0)
		decrypt(w, lot, n);
}

static void cbc_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	keyexp_t expand = s->key_len == IMB_KEY_128_BYTES   ? w->best->keyexp_128
			  : s->key_len == IMB_KEY_192_BYTES ? w->best->keyexp_192
							    : w->best->keyexp_256;
	alignas(16) uint8_t other[sizeof(s->round_keys)];

	if (dir == CRYPTO_SEAL)
		expand(key->cipher_key, s->round_keys, other);
	else
		expand(key->cipher_key, other, s->round_keys);
	OPENSSL_cleanse(other, sizeof(other));
}

bool imb_hmac_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	if (key->auth->mode == AUTH_HMAC_SHA1) {
		s->hash = IMB_AUTH_HMAC_SHA_1;
		hmac_sha1_key_init(&s->hmac_key, key->auth_key, key->auth->key_len);
	} else {
		s->hash = IMB_AUTH_HMAC_SHA_256;
		hmac_sha256_key_init(&s->hmac_key, key->auth_key, key->auth->key_len);
	}
	s->run = dir == CRYPTO_SEAL ? hmac_seal : hmac_open;
	if (s->key_len > 0)
		cbc_init(s, key, dir, w);
	return RAND_bytes((uint8_t *)s->mask, sizeof(s->mask)) == 1;
}
