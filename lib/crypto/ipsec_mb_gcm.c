// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (RFC 4106) on ipsec-mb: its direct functions, packet by packet.

#include <immintrin.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_prefetch.h>

#include "ipsec_mb.h"

#define AHEAD 4 // packets

// Salt and IV, 12 octets. In one store, for the library reads them in one load: a load that has to
// wait for two stores is slow.
static __m128i nonce_of(const struct imb_session *s, uint64_t iv)
{
	return _mm_set_epi64x((int64_t)(iv >> 32), (int64_t)(iv << 32 | s->salt));
}

// The keys of many SAs are in no cache. Of the powers of the hash key, the first is the last in
// memory, and a packet needs as many as it has blocks.
static void fetch_keys(struct crypto_op *const lot[], unsigned int n, unsigned int i)
{
	if (i >= n || (i > 0 && lot[i]->session == lot[i - 1]->session))
		return;

	const struct imb_session *s = (const struct imb_session *)lot[i]->session;
	const uint8_t *keys = (const uint8_t *)&s->gcm, *end = keys + sizeof(s->gcm);
	const uint8_t *power = end - 16 * RTE_MIN(lot[i]->text_len / 16 + 3, 48);

	for (unsigned int k = 0; k < s->key_len / 4 + 7; k += RTE_CACHE_LINE_SIZE / 16)
		rte_prefetch0(keys + 16 * k);
	for (; power < end; power += RTE_CACHE_LINE_SIZE)
		rte_prefetch0(power);
}

static void gcm_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;
	aes_gcm_enc_dec_t encrypt = first->key_len == IMB_KEY_128_BYTES   ? w->best->gcm128_enc
				    : first->key_len == IMB_KEY_192_BYTES ? w->best->gcm192_enc
									  : w->best->gcm256_enc;

	for (unsigned int i = 0; i < AHEAD; i++)
		fetch_keys(lot, n, i);
	for (unsigned int i = 0; i < n; i++) {
		fetch_keys(lot, n, i + AHEAD);

		struct crypto_op *op = lot[i];
		const struct imb_session *s = (const struct imb_session *)op->session;
		rte_be64_t seq = rte_cpu_to_be_64(op->seq);
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = iv + GCM_IV_LEN;
		__m128i nonce = nonce_of(s, seq);

		encrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			op->esp, ESP_HEADER_LEN, text + op->text_len, GCM_ICV_LEN);
		memcpy(iv, &seq, GCM_IV_LEN); // not before: it would hold up the load of the header
		op->ok = true;
	}
}

static void gcm_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = (const struct imb_session *)lot[0]->session;
	aes_gcm_enc_dec_t decrypt = first->key_len == IMB_KEY_128_BYTES   ? w->best->gcm128_dec
				    : first->key_len == IMB_KEY_192_BYTES ? w->best->gcm192_dec
									  : w->best->gcm256_dec;

	for (unsigned int i = 0; i < AHEAD; i++)
		fetch_keys(lot, n, i);
	for (unsigned int i = 0; i < n; i++) {
		fetch_keys(lot, n, i + AHEAD);

		struct crypto_op *op = lot[i];
		const struct imb_session *s = (const struct imb_session *)op->session;
		const uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = op->esp + ESP_HEADER_LEN + GCM_IV_LEN;
		uint8_t icv[GCM_ICV_LEN];
		__m128i nonce;
		uint64_t seq;

		memcpy(&seq, iv, GCM_IV_LEN);
		nonce = nonce_of(s, seq);
		decrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			op->esp, ESP_HEADER_LEN, icv, GCM_ICV_LEN);
		op->ok = imb_icv_equal(icv, text + op->text_len, GCM_ICV_LEN);
	}
}

bool imb_gcm_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	aes_gcm_pre_t expand = s->key_len == IMB_KEY_128_BYTES   ? w->best->gcm128_pre
			       : s->key_len == IMB_KEY_192_BYTES ? w->best->gcm192_pre
								 : w->best->gcm256_pre;

	expand(key->cipher_key, &s->gcm);
	memcpy(&s->salt, key->cipher_key + s->key_len, GCM_SALT_LEN);
	s->run = dir == CRYPTO_SEAL ? gcm_seal : gcm_open;
	return true;
}
