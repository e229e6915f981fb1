// SPDX-License-Identifier: BSD-3-Clause
// What an engine provides. Private to lib/crypto: everyone else uses crypto.h.
#pragma once

#include "crypto.h"

struct crypto_engine {
	const char *name;
	// Algorithms that are a pair, and ESN or not. The keys do not matter.
	bool (*supports)(const struct crypto_key *key);
	// Same contract as crypto_session_new(), for algorithms that the engine supports.
	struct crypto_session *(*session_new)(
		const struct crypto_key *key, enum crypto_dir dir, unsigned int n_workers);
	void (*session_free)(struct crypto_session *s);
	// All operations belong to sessions of this engine.
	void (*seal)(struct crypto_op ops[], uint16_t n, unsigned int worker);
	void (*open)(struct crypto_op ops[], uint16_t n, unsigned int worker);
};

// The first member of every engine's own session.
struct crypto_session {
	const struct crypto_engine *engine;
};

extern const struct crypto_engine crypto_engine_openssl;
extern const struct crypto_engine crypto_engine_ipsec_mb; // where HAVE_IPSEC_MB
