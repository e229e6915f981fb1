// SPDX-License-Identifier: BSD-3-Clause
// The engine on intel-ipsec-mb: the fastest on x86. Works on all packets of a burst at the same
// time, whichever SAs they belong to.

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ipsec_mb.h"
#include "line_memory.h"
#include "vaes_gcm.h"

// Made with the first session that needs them, and kept until the process ends.
static struct imb_worker *workers[CRYPTO_WORKERS_MAX];

static void worker_free(struct imb_worker *w)
{
	if (w == NULL)
		return;
	if (w->few != w->best)
		free_mb_mgr(w->few);
	free_mb_mgr(w->best);
	line_free(w);
}

// Where vectors have 16 lanes they are the fastest for many packets, and the SHA instructions,
// which ipsec-mb uses in its SSE code alone, for few. Shorter vectors never beat these.
static struct imb_worker *worker_new(void)
{
	struct imb_worker *w = line_calloc(1, sizeof(*w));
	IMB_ARCH arch;

	if (w == NULL)
		return NULL;
	w->best = alloc_mb_mgr(0);
	if (w->best == NULL)
		goto fail;
	init_mb_mgr_auto(w->best, &arch);
	w->vaes_gcm = vaes_gcm_fits(w->best->features);
	w->few = w->best;
	if ((w->best->features & IMB_FEATURE_SHANI) != 0) {
		w->few = alloc_mb_mgr(0);
		if (w->few == NULL)
			goto fail;
		init_mb_mgr_sse(w->few);
	}
	w->many = arch == IMB_ARCH_AVX512 ? w->best : w->few;
	for (unsigned int i = 0; i < CRYPTO_LOT_MAX; i++)
		w->job[i].iv_len_in_bytes = CBC_IV_LEN;
	return w;
fail:
	worker_free(w);
	return NULL;
}

static bool workers_make(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (workers[i] == NULL)
			workers[i] = worker_new();
		if (workers[i] == NULL)
			return false;
	}
	return true;
}

void imb_keys_expand(const struct imb_session *s, const struct crypto_key *key,
	const struct imb_worker *w, void *encrypt, void *decrypt)
{
	keyexp_t expand = s->key_len == IMB_KEY_128_BYTES   ? w->best->keyexp_128
			  : s->key_len == IMB_KEY_192_BYTES ? w->best->keyexp_192
							    : w->best->keyexp_256;

	expand(key->cipher_key, encrypt, decrypt);
}

// By enum cipher_mode.
static const struct {
	bool (*init)(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
		const struct imb_worker *w);
	uint64_t features; // of the processor
} families[] = {
#define CIPHER_MODE(mode, openssl, ipsec_mb, features)                                             \
	{imb_##ipsec_mb##_init, IMB_FEATURE_AESNI | IMB_FEATURE_##features},
#include "cipher_mode.def"
};

static bool supports(const struct crypto_key *key)
{
	uint64_t needs = families[key->cipher->mode].features;

	return (imb_get_feature_flags() & needs) == needs;
}

// Its sessions have only the values that differ between sessions of a lot.
static bool is_gcm(const struct cipher_alg *cipher)
{
	return cipher->mode == CIPHER_GCM || cipher->mode == CIPHER_GMAC;
}

static bool session_init(struct crypto_session *base, const struct crypto_key *key,
	enum crypto_dir dir, unsigned int n_workers)
{
	const struct cipher_alg *cipher = key->cipher;
	struct imb_session *s = (struct imb_session *)base;

	if (!is_gcm(cipher)) {
		s->key_len = cipher->key_len;
		s->iv_len = cipher->iv_len;
		s->icv_len = alg_pair_icv_len(cipher, key->auth);
		s->esn_len = key->esn ? ESN_LEN : 0;
	}
	s->mask = key->iv_mask;
	if (cipher->salt_len > 0)
		memcpy(&s->salt, key->cipher_key + cipher->key_len, SALT_LEN);
	return workers_make(n_workers) && families[cipher->mode].init(s, key, dir, workers[0]);
}

static void run(struct crypto_op *const lot[], unsigned int n, unsigned int worker)
{
	if (is_gcm(crypto_session_cipher(lot[0]->session)))
		imb_gcm_run(workers[worker], lot, n);
	else
		imb_session_of(lot[0])->run(workers[worker], lot, n);
}

const struct crypto_engine crypto_engine_ipsec_mb = {
	.name = "ipsec_mb",
	.supports = supports,
	.session_size = sizeof(struct imb_session),
	.session_init = session_init,
	.run = run,
};
