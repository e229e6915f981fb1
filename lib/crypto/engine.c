// SPDX-License-Identifier: BSD-3-Clause
// The interface of crypto.h: chooses an engine for each session, and calls the engine of each
// operation.
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include <rte_common.h>

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

static struct crypto_session *session_new(const struct crypto_engine *e,
	const struct crypto_key *key, enum crypto_dir dir, unsigned int n_workers)
{
	size_t size = e->session_size + n_workers * e->worker_size;
	struct crypto_session *s = aligned_alloc(RTE_CACHE_LINE_SIZE, size);

	if (s == NULL)
		return NULL;
	memset(s, 0, size);
	s->engine = e;
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
			return session_new(e, key, dir, n_workers);
	}
	errno = ENOTSUP;
	return NULL;
}

void crypto_session_free(struct crypto_session *s)
{
	if (s == NULL)
		return;
	if (s->engine->session_fini != NULL)
		s->engine->session_fini(s);
	OPENSSL_cleanse(s, s->engine->session_size);
	free(s);
}

const char *crypto_session_engine(const struct crypto_session *s)
{
	return s->engine->name;
}

// How many operations at the front belong to the same engine. n > 0.
static uint16_t run_len(const struct crypto_op ops[], uint16_t n)
{
	uint16_t len = 1;

	while (len < n && ops[len].session->engine == ops[0].session->engine)
		len++;
	return len;
}

static void run(struct crypto_op ops[], uint16_t n, unsigned int worker)
{
	for (uint16_t done = 0; done < n;) {
		uint16_t len = run_len(&ops[done], n - done);

		ops[done].session->engine->run(&ops[done], len, worker);
		done += len;
	}
}

void crypto_seal(struct crypto_op ops[], uint16_t n, unsigned int worker)
{
	run(ops, n, worker);
}

void crypto_open(struct crypto_op ops[], uint16_t n, unsigned int worker)
{
	run(ops, n, worker);
}
