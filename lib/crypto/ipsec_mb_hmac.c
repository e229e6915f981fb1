// SPDX-License-Identifier: BSD-3-Clause
// HMAC, with AES-CBC, AES-CTR or no cipher, on ipsec-mb: the whole lot goes through one cipher
// burst and one hash burst, each packet in a lane of its own.

#include <string.h>

#include <rte_prefetch.h>

#include "ipsec_mb.h"

// How much of the packet is authenticated, in octets.
static size_t covered(const struct imb_session *s, const struct crypto_op *op)
{
	return ESP_HEADER_LEN + s->iv_len + op->text_len;
}

// With ESN the upper half of the sequence number is authenticated after that, where the ICV is or
// will be (RFC 4303 2.8).
static void esn_append(const struct crypto_op *op, size_t len)
{
	rte_be32_t upper = imb_esn_upper(op);

	memcpy(op->esp + len, &upper, sizeof(upper));
}

// By enum auth_mode: many as in imb_manager(). The library hashes few packets with SHA-384 and
// SHA-512 badly: many is 0.
static const struct {
	IMB_HASH_ALG alg;
	uint8_t many;
} hashes[] = {
	[AUTH_HMAC_SHA1] = {IMB_AUTH_HMAC_SHA_1, 8},
	[AUTH_HMAC_SHA256] = {IMB_AUTH_HMAC_SHA_256, 12},
	[AUTH_HMAC_SHA384] = {IMB_AUTH_HMAC_SHA_384, 0},
	[AUTH_HMAC_SHA512] = {IMB_AUTH_HMAC_SHA_512, 0},
};

// The keys of many SAs are in no cache.
static void fetch_keys(struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	const unsigned int n_keys = first->key_len > 0 ? first->key_len / 4u + 7 : 0;
	const uint8_t outer_off = hmac_algs[first->auth].outer_off;

	if (imb_lot_has_one_session(lot, n))
		return;
	for (unsigned int i = 0; i < n; i++) {
		const struct imb_session *s = imb_session_of(lot[i]);

		rte_prefetch0(&s->hmac_key);
		rte_prefetch0((const uint8_t *)&s->hmac_key + outer_off);
		for (unsigned int k = 0; k < n_keys; k += RTE_CACHE_LINE_SIZE / 16)
			rte_prefetch0(&s->round_keys[k]);
	}
}

// Of packet i of the lot, whose first session is first: len octets are authenticated, without those
// added by ESN.
static inline void hash_job(struct imb_worker *w, struct crypto_op *const lot[], unsigned int i,
	const struct imb_session *first, size_t len, uint8_t *icv)
{
	const uint8_t *states = (const uint8_t *)&imb_session_of(lot[i])->hmac_key;
	IMB_JOB *j = &w->job[i];

	j->src = lot[i]->esp;
	j->msg_len_to_hash_in_bytes = len + first->esn_len;
	j->auth_tag_output = icv;
	j->auth_tag_output_len_in_bytes = first->icv_len;
	j->u.HMAC._hashed_auth_key_xor_ipad = states;
	j->u.HMAC._hashed_auth_key_xor_opad = states + hmac_algs[first->auth].outer_off;
}

static void hash(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n, size_t octets)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	const unsigned int many = hashes[first->auth].many;
	const IMB_JOB *j = &w->job[0];

	if (n == 1 && many == 0)
		hmac_algs[first->auth].hmac(
			j->auth_tag_output, &first->hmac_key, j->src, j->msg_len_to_hash_in_bytes);
	else
		IMB_SUBMIT_HASH_BURST_NOCHECK(many == 0 ? w->best : imb_manager(w, n, octets, many),
			w->job, n, hashes[first->auth].alg);
}

static void hmac_seal(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	size_t octets = 0;

	fetch_keys(lot, n);
	for (unsigned int i = 0; i < n; i++) {
		struct crypto_op *op = lot[i];
		size_t len = covered(first, op);

		hash_job(w, lot, i, first, len, op->esp + len);
		octets += len;
		op->ok = true;
	}
	if (first->crypt != NULL)
		first->crypt(w, lot, n, octets);
	for (unsigned int i = 0; i < n && first->esn_len > 0; i++)
		esn_append(lot[i], covered(first, lot[i]));
	hash(w, lot, n, octets);
}

// With ESN: puts the received ICVs aside, and the upper halves of the numbers in their place.
static void received_save(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = imb_session_of(lot[0]);

	for (unsigned int i = 0; i < n; i++) {
		size_t len = covered(first, lot[i]);

		memcpy(w->received[i], lot[i]->esp + len, first->icv_len);
		esn_append(lot[i], len);
	}
}

static void hmac_open(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n)
{
	const struct imb_session *first = imb_session_of(lot[0]);
	bool esn = first->esn_len > 0;
	size_t octets = 0;

	fetch_keys(lot, n);
	for (unsigned int i = 0; i < n; i++) {
		size_t len = covered(first, lot[i]);

		hash_job(w, lot, i, first, len, w->icv[i]);
		octets += len;
	}
	if (esn)
		received_save(w, lot, n);
	hash(w, lot, n, octets);
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *received =
			esn ? w->received[i] : lot[i]->esp + covered(first, lot[i]);

		lot[i]->ok = imb_icv_equal(w->icv[i], received, first->icv_len);
	}
	if (first->crypt != NULL)
		first->crypt(w, lot, n, octets);
}

bool imb_null_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w)
{
	enum auth_mode mode = key->auth->mode;

	(void)w;
	s->auth = (uint8_t)mode;
	hmac_key_init(mode, &s->hmac_key, key->auth_key, key->auth->key_len);
	s->run = dir == CRYPTO_SEAL ? hmac_seal : hmac_open;
	return true;
}
