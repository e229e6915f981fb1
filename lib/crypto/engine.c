// SPDX-License-Identifier: BSD-3-Clause
// The interface of crypto.h: chooses an engine for each session, and calls the engine of each
// operation.
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "line_memory.h"

// Fastest first.
static const struct crypto_engine *const engines[] = {
#ifdef HAVE_IPSEC_MB
	&crypto_engine_ipsec_mb,
#endif
	&crypto_engine_openssl,
};

const char *const crypto_engine_names[] = {"ipsec_mb", "openssl", NULL};

bool crypto_engine_built_in(const char *name)
{
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strcmp(name, engines[i]->name) == 0)
			return true;
	return false;
}

// engine: its place in engines[].
static uint32_t kind_of(size_t engine, const struct crypto_key *key, enum crypto_dir dir)
{
	size_t cipher = (size_t)(key->cipher - cipher_algs), auth = (size_t)(key->auth - auth_algs);

	return (uint32_t)(engine << KIND_ENGINE_SHIFT | cipher << KIND_CIPHER_SHIFT |
			  auth << KIND_AUTH_SHIFT) |
	       (dir == CRYPTO_SEAL ? KIND_SEALS : 0) | (key->esn ? KIND_ESN : 0);
}

static const struct crypto_engine *engine_of(uint32_t kind)
{
	return engines[kind >> KIND_ENGINE_SHIFT];
}

static struct crypto_session *session_new(
	size_t engine, const struct crypto_key *key, enum crypto_dir dir, unsigned int n_workers)
{
	const struct crypto_engine *e = engines[engine];
	size_t size = e->session_size + n_workers * e->worker_size;
	struct crypto_session *s = line_calloc(1, size);

	if (s == NULL)
		return NULL;
	s->kind = kind_of(engine, key, dir);
	if (e->session_init(s, key, dir, n_workers))
		return s;
	crypto_session_free(s);
	errno = ENOMEM;
	return NULL;
}

struct crypto_session *crypto_session_new(const struct crypto_key *key, enum crypto_dir dir,
	const char *engine, unsigned int n_workers)
{
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		const struct crypto_engine *e = engines[i];

		if (strcmp(engine, "auto") != 0 && strcmp(engine, e->name) != 0)
			continue;
		if (alg_pair_ok(key->cipher, key->auth) && e->supports(key))
			return session_new(i, key, dir, n_workers);
	}
	errno = ENOTSUP;
	return NULL;
}

void crypto_session_free(struct crypto_session *s)
{
	if (s == NULL)
		return;
	if (engine_of(s->kind)->session_fini != NULL)
		engine_of(s->kind)->session_fini(s);
	line_free(s);
}

const char *crypto_session_engine(const struct crypto_session *s)
{
	return engine_of(s->kind)->name;
}

// Moves operations of another kind than the first from lot to left, in their order. Returns how
// many are left in lot, of n. Most often none is moved.
static unsigned int lot_pick(struct crypto_op *lot[], unsigned int n, struct crypto_op *left[])
{
	const struct crypto_session *first = lot[0]->session;
	unsigned int picked = 1, n_left = 0;

	while (picked < n &&
		(lot[picked]->session == first || lot[picked]->session->kind == first->kind))
		picked++;
	for (unsigned int i = picked; i < n; i++) {
		if (lot[i]->session->kind == first->kind)
			lot[picked++] = lot[i];
		else
			left[n_left++] = lot[i];
	}
	return picked;
}

// Gives operations to engines lot by lot: those of a kind at once, whichever SAs they belong to.
static void run_lots(struct crypto_op ops[], unsigned int n, unsigned int worker)
{
	struct crypto_op *space[2][CRYPTO_LOT_MAX], **lot = space[0], **left = space[1];

	for (unsigned int i = 0; i < n; i++)
		lot[i] = &ops[i];
	while (n > 0) {
		const unsigned int picked = lot_pick(lot, n, left);

		engine_of(lot[0]->session->kind)->run(lot, picked, worker);
		n -= picked;
		RTE_SWAP(lot, left);
	}
}

static void run(struct crypto_op ops[], uint16_t n, unsigned int worker)
{
	for (unsigned int done = 0; done < n; done += CRYPTO_LOT_MAX)
		run_lots(&ops[done], RTE_MIN(n - done, (unsigned int)CRYPTO_LOT_MAX), worker);
}

void crypto_seal(struct crypto_op ops[], uint16_t n, unsigned int worker)
{
	run(ops, n, worker);
}

void crypto_open(struct crypto_op ops[], uint16_t n, unsigned int worker)
{
	run(ops, n, worker);
}
