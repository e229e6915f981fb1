// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (RFC 4106) and AES-GMAC (RFC 4543) on ipsec-mb: its direct functions, packet by packet,
// or those of vaes_gcm.h. GMAC is GCM that authenticates everything, the IV included, and encrypts
// nothing.

#include <string.h>

#include <rte_prefetch.h>

#include "ipsec_mb.h"
#include "vaes_gcm.h"

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

// Whether sealing and opening is that of vaes_gcm.h.
static bool is_vaes(const struct imb_worker *w, const struct cipher_alg *cipher)
{
	return cipher->mode == CIPHER_GCM && w->vaes_gcm;
}

static struct gcm gcm_of(const struct imb_worker *w, const struct cipher_alg *cipher)
{
	const IMB_MGR *m = w->best;
	struct gcm gcm = cipher->key_len == IMB_KEY_128_BYTES   ? GCM_OF(m, 128)
			 : cipher->key_len == IMB_KEY_192_BYTES ? GCM_OF(m, 192)
								: GCM_OF(m, 256);

	if (is_vaes(w, cipher)) {
		gcm.encrypt = vaes_gcm_seal(cipher->key_len);
		gcm.decrypt = vaes_gcm_open(cipher->key_len);
	}
	return gcm;
}

// The part of its keys that a packet reads; by value, so that a lot stays in registers.
struct keys_read {
	uint32_t key_len; // octets
	// Powers of the hash key: one for each whole block, and as many more.
	uint16_t more_powers, powers_max;
};

// Values that all packets of a lot share.
struct lot {
	struct gcm gcm;
	struct keys_read keys;
	uint8_t icv_len, esn_len; // octets
	bool fetch;               // its keys: they are of several sessions
};

static struct lot lot_of(const struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct cipher_alg *cipher = crypto_session_cipher(lot[0]->session);

	return (struct lot){
		.gcm = gcm_of(w, cipher),
		.keys = is_vaes(w, cipher)
				? (struct keys_read){cipher->key_len, 4, VAES_GCM_POWERS + 1}
				: (struct keys_read){cipher->key_len, 3, 48},
		.icv_len = cipher->icv_len,
		.esn_len = crypto_session_esn(lot[0]->session) ? ESN_LEN : 0,
		.fetch = !imb_lot_has_one_session(lot, n),
	};
}

// The keys of many SAs are in no cache: their lines but the first, which has been fetched with the
// session, and those of the powers of the hash key. The first of these is the last in memory.
static void fetch_keys(const struct crypto_op *op, struct keys_read keys)
{
	const struct imb_session *s = imb_session_of(op);
	const uint8_t *start = (const uint8_t *)s, *end = (const uint8_t *)(&s->gcm + 1);
	const unsigned int powers = RTE_MIN(op->text_len / 16u + keys.more_powers, keys.powers_max);
	const uint8_t *power = end - powers * 16;

	rte_prefetch0(start + RTE_CACHE_LINE_SIZE);
	rte_prefetch0(start + 2 * RTE_CACHE_LINE_SIZE);
	if (keys.key_len > IMB_KEY_128_BYTES)
		rte_prefetch0(start + 3 * RTE_CACHE_LINE_SIZE);
	do
		rte_prefetch0(power);
	while ((power += RTE_CACHE_LINE_SIZE) < end);
}

// The keys of the first packets of a lot.
static void fetch_first_keys(struct crypto_op *const lot[], unsigned int n, struct keys_read keys)
{
	for (unsigned int i = 0; i < RTE_MIN(n, AHEAD); i++)
		fetch_keys(lot[i], keys);
}

// Prefetches the keys of packet i + AHEAD, unless the packet before it is of the same session.
static inline void fetch_next_keys(
	struct crypto_op *const lot[], unsigned int n, unsigned int i, struct keys_read keys)
{
	i += AHEAD;
	if (i < n && lot[i]->session != lot[i - 1]->session)
		fetch_keys(lot[i], keys);
}

static void gcm_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct lot l = lot_of(w, lot, n);

	if (l.fetch)
		fetch_first_keys(lot, n, l.keys);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const struct imb_session *s = imb_session_of(op);
		rte_be64_t counter = imb_counter_iv(s, op);
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = iv + COUNTER_IV_LEN;
		__m128i nonce = imb_nonce(s, counter), aad;

		if (l.fetch)
			fetch_next_keys(lot, n, i, l.keys);
		l.gcm.encrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			imb_aad(&aad, l.esn_len, op), ESP_HEADER_LEN + l.esn_len,
			text + op->text_len, l.icv_len);
		memcpy(iv, &counter,
			sizeof(counter)); // not before: would hold up the load of the header
		op->ok = true;
	}
}

static void gcm_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct lot l = lot_of(w, lot, n);

	if (l.fetch)
		fetch_first_keys(lot, n, l.keys);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const struct imb_session *s = imb_session_of(op);
		const uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t *text = op->esp + ESP_HEADER_LEN + COUNTER_IV_LEN;
		uint8_t icv[AEAD_ICV_MAX];
		__m128i nonce, aad;
		uint64_t seq;

		if (l.fetch)
			fetch_next_keys(lot, n, i, l.keys);
		memcpy(&seq, iv, sizeof(seq));
		nonce = imb_nonce(s, seq);
		l.gcm.decrypt(&s->gcm, &w->gcm, text, text, op->text_len, (const uint8_t *)&nonce,
			imb_aad(&aad, l.esn_len, op), ESP_HEADER_LEN + l.esn_len, icv, l.icv_len);
		op->ok = imb_icv_equal(icv, text + op->text_len, l.icv_len);
	}
}

// Computes the ICV of a packet that has its IV. In one call, unless the authenticated octets are
// not contiguous.
static void gmac_icv(
	const struct lot *l, struct imb_worker *w, const struct crypto_op *op, uint8_t *icv)
{
	const struct gcm *f = &l->gcm;
	const struct imb_session *s = imb_session_of(op);
	const uint8_t *iv = op->esp + ESP_HEADER_LEN;
	size_t rest = COUNTER_IV_LEN + op->text_len;
	__m128i nonce, aad;
	uint64_t seq;

	memcpy(&seq, iv, sizeof(seq));
	nonce = imb_nonce(s, seq);
	if (l->esn_len == 0) {
		f->encrypt(&s->gcm, &w->gcm, NULL, NULL, 0, (const uint8_t *)&nonce, op->esp,
			ESP_HEADER_LEN + rest, icv, l->icv_len);
		return;
	}
	f->init(&s->gcm, &w->gcm, (const uint8_t *)&nonce, NONCE_LEN);
	f->update(&s->gcm, &w->gcm, imb_aad(&aad, l->esn_len, op), ESP_HEADER_LEN + l->esn_len);
	f->update(&s->gcm, &w->gcm, iv, rest);
	f->finalize(&s->gcm, &w->gcm, icv, l->icv_len);
}

static void gmac_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct lot l = lot_of(w, lot, n);

	if (l.fetch)
		fetch_first_keys(lot, n, l.keys);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		uint8_t *iv = op->esp + ESP_HEADER_LEN;
		rte_be64_t counter = imb_counter_iv(imb_session_of(op), op);

		if (l.fetch)
			fetch_next_keys(lot, n, i, l.keys);
		memcpy(iv, &counter, sizeof(counter));
		gmac_icv(&l, w, op, iv + COUNTER_IV_LEN + op->text_len);
		op->ok = true;
	}
}

static void gmac_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct lot l = lot_of(w, lot, n);

	if (l.fetch)
		fetch_first_keys(lot, n, l.keys);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		const uint8_t *iv = op->esp + ESP_HEADER_LEN;
		uint8_t icv[AEAD_ICV_MAX];

		if (l.fetch)
			fetch_next_keys(lot, n, i, l.keys);
		gmac_icv(&l, w, op, icv);
		op->ok = imb_icv_equal(icv, iv + COUNTER_IV_LEN + op->text_len, l.icv_len);
	}
}

void imb_gcm_run(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct crypto_session *first = lot[0]->session;
	const bool gmac = crypto_session_cipher(first)->mode == CIPHER_GMAC;

	if (crypto_session_seals(first))
		gmac ? gmac_seal(w, lot, n) : gcm_seal(w, lot, n);
	else
		gmac ? gmac_open(w, lot, n) : gcm_open(w, lot, n);
}

bool imb_gmac_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	(void)dir;
	gcm_of(w, key->cipher).expand(key->cipher_key, &s->gcm);
	return true;
}

bool imb_gcm_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	imb_gmac_init(s, key, dir, w);
	if (is_vaes(w, key->cipher))
		vaes_gcm_key(&s->gcm, key->cipher->key_len);
	return true;
}
