// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (RFC 4106) and AES-GMAC (RFC 4543) on ipsec-mb: its direct functions, packet by packet.
// GMAC is GCM that authenticates everything, the IV included, and encrypts nothing.

#include <string.h>

#include <rte_prefetch.h>

#include "ipsec_mb.h"

#define AHEAD 4u // packets

// The library's functions for a length of key. GMAC in one call is an encryption of no text: all is
// AAD.
struct gcm {
	aes_gcm_pre_t expand;
	aes_gcm_enc_dec_t encrypt, decrypt;
	aes_gmac_init_t init;
	aes_gmac_update_t update;
	aes_gmac_finalize_t finalize;
};

#define GCM_OF(m, bits)                                                                            \
	((struct gcm){m->gcm##bits##_pre, m->gcm##bits##_enc, m->gcm##bits##_dec,                  \
		m->gmac##bits##_init, m->gmac##bits##_update, m->gmac##bits##_finalize})

static struct gcm gcm_of(const IMB_MGR *m, uint32_t key_len)
{
	return key_len == IMB_KEY_128_BYTES   ? GCM_OF(m, 128)
	       : key_len == IMB_KEY_192_BYTES ? GCM_OF(m, 192)
					      : GCM_OF(m, 256);
}

// The keys of many SAs are in no cache: their lines, and those of the powers of the hash key. The
// first of these is the last in memory, and a packet needs as many as it has blocks.
static void fetch_keys(const struct crypto_op *op, uint32_t key_len)
{
	const struct imb_session *s = imb_session_of(op);
	const uint8_t *keys = (const uint8_t *)&s->gcm, *end = keys + sizeof(s->gcm);
	const uint8_t *power = end - 16 * RTE_MIN(op->text_len / 16 + 3, 48);

	rte_prefetch0(keys);
	rte_prefetch0(keys + RTE_CACHE_LINE_SIZE);
	rte_prefetch0(keys + 2 * RTE_CACHE_LINE_SIZE);
	if (key_len > IMB_KEY_128_BYTES)
		rte_prefetch0(keys + 3 * RTE_CACHE_LINE_SIZE);
	do
		rte_prefetch0(power);
	while ((power += RTE_CACHE_LINE_SIZE) < end);
}

// The keys of the first packets of a lot.
static void fetch_first_keys(struct crypto_op *const lot[], unsigned int n, uint32_t key_len)
{
	for (unsigned int i = 0; i < RTE_MIN(n, AHEAD); i++)
		fetch_keys(lot[i], key_len);
}

// Those of the packet some packets behind number i, unless they are those of the one before it.
static inline void fetch_next_keys(
	struct crypto_op *const lot[], unsigned int n, unsigned int i, uint32_t key_len)
{
	i += AHEAD;
	if (i < n && lot[i]->session != lot[i - 1]->session)
		fetch_keys(lot[i], key_len);
}

static void gcm_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	const struct gcm f = gcm_of(w->best, first->key_len);
	const bool fetch = !imb_lot_has_one_session(lot, n);

	if (fetch)
		fetch_first_keys(lot, n, first->key_len);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const struct imb_session *s = imb_session_of(op);
		rte_be64_t counter = imb_counter_iv(s, op);
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = iv + COUNTER_IV_LEN;
		__m128i nonce = imb_nonce(s, counter), aad;

		if (fetch)
			fetch_next_keys(lot, n, i, first->key_len);
		f.encrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			imb_aad(&aad, first, op), ESP_HEADER_LEN + first->esn_len,
			text + op->text_len, first->icv_len);
		memcpy(iv, &counter,
			sizeof(counter)); // not before: would hold up the load of the header
		op->ok = true;
	}
}

static void gcm_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	const struct gcm f = gcm_of(w->best, first->key_len);
	const bool fetch = !imb_lot_has_one_session(lot, n);

	if (fetch)
		fetch_first_keys(lot, n, first->key_len);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const struct imb_session *s = imb_session_of(op);
		const uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = op->esp + ESP_HEADER_LEN + COUNTER_IV_LEN;
		uint8_t icv[AEAD_ICV_MAX];
		__m128i nonce, aad;
		uint64_t seq;

		if (fetch)
			fetch_next_keys(lot, n, i, first->key_len);
		memcpy(&seq, iv, sizeof(seq));
		nonce = imb_nonce(s, seq);
		f.decrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			imb_aad(&aad, first, op), ESP_HEADER_LEN + first->esn_len, icv,
			first->icv_len);
		op->ok = imb_icv_equal(icv, text + op->text_len, first->icv_len);
	}
}

// Computes the ICV of a packet that has its IV. In one call, unless what is authenticated is not in
// one piece.
static void gmac_icv(
	const struct gcm *f, struct imb_worker *w, const struct crypto_op *op, uint8_t *icv)
{
	const struct imb_session *s = imb_session_of(op);
	const uint8_t *iv = op->esp + ESP_HEADER_LEN;
	size_t rest = COUNTER_IV_LEN + op->text_len;
	__m128i nonce, aad;
	uint64_t seq;

	memcpy(&seq, iv, sizeof(seq));
	nonce = imb_nonce(s, seq);
	if (s->esn_len == 0) {
		f->encrypt(&s->gcm, &w->gcm, NULL, NULL, 0, (const uint8_t *)&nonce, op->esp,
			ESP_HEADER_LEN + rest, icv, s->icv_len);
		return;
	}
	f->init(&s->gcm, &w->gcm, (const uint8_t *)&nonce, NONCE_LEN);
	f->update(&s->gcm, &w->gcm, imb_aad(&aad, s, op), ESP_HEADER_LEN + s->esn_len);
	f->update(&s->gcm, &w->gcm, iv, rest);
	f->finalize(&s->gcm, &w->gcm, icv, s->icv_len);
}

static void gmac_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const uint32_t key_len = imb_session_of(lot[0])->key_len;
	const struct gcm f = gcm_of(w->best, key_len);

	fetch_first_keys(lot, n, key_len);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		rte_be64_t counter = imb_counter_iv(imb_session_of(op), op);

		fetch_next_keys(lot, n, i, key_len);
		memcpy(iv, &counter, sizeof(counter));
		gmac_icv(&f, w, op, iv + COUNTER_IV_LEN + op->text_len);
		op->ok = true;
	}
}

static void gmac_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	const struct gcm f = gcm_of(w->best, first->key_len);

	fetch_first_keys(lot, n, first->key_len);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t icv[AEAD_ICV_MAX];

		fetch_next_keys(lot, n, i, first->key_len);
		gmac_icv(&f, w, op, icv);
		op->ok = imb_icv_equal(icv, iv + COUNTER_IV_LEN + op->text_len, first->icv_len);
	}
}

bool imb_gcm_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	gcm_of(w->best, s->key_len).expand(key->cipher_key, &s->gcm);
	s->run = dir == CRYPTO_SEAL ? gcm_seal : gcm_open;
	return true;
}

bool imb_gmac_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	imb_gcm_init(s, key, dir, w);
	s->run = dir == CRYPTO_SEAL ? gmac_seal : gmac_open;
	return true;
}
