// SPDX-License-Identifier: BSD-3-Clause
// Functions that an engine provides. Private to lib/crypto: everyone else uses crypto.h.
#pragma once

#include "crypto.h"

#define ESP_HEADER_LEN 8 // SPI and sequence number
#define CBC_IV_LEN     16
#define SALT_LEN       4
#define ESN_LEN        4 // upper half of a sequence number of 64 bits, where it is authenticated
#define COUNTER_IV_LEN 8 // of the IVs that count (RFC 3686, 4106, 4543, 7634)
#define NONCE_LEN      (SALT_LEN + COUNTER_IV_LEN)

#define CRYPTO_LOT_MAX 64 // operations that are given to an engine at once

struct crypto_engine {
	const char *name;
	// Algorithms that are a pair, and ESN or not. The keys do not matter.
	bool (*supports)(const struct crypto_key *key);
	size_t session_size, worker_size; // octets of a session, and more for each worker
	// Prepares a session, which is 0 but for kind, for algorithms that the engine supports.
	// Returns false without memory.
	bool (*session_init)(struct crypto_session *s, const struct crypto_key *key,
		enum crypto_dir dir, unsigned int n_workers);
	// Frees memory of a session, which may be incomplete. NULL: there is none.
	void (*session_fini)(struct crypto_session *s);
	// Seals or opens a lot, by the direction of its sessions: n operations, 1 to
	// CRYPTO_LOT_MAX, of sessions of one kind.
	void (*run)(struct crypto_op *const lot[], unsigned int n, unsigned int worker);
};

// The first member of every engine's own session: engine, algorithms and direction, the same for
// all sessions that have the same. No more than that, because it shares a cache line with other
// fields that the engine reads for each packet.
struct crypto_session {
	uint32_t kind; // engine, cipher and authentication, each a place in its table, and two bits
#define KIND_ENGINE_SHIFT 24
#define KIND_CIPHER_SHIFT 16
#define KIND_AUTH_SHIFT   8
#define KIND_SEALS        2u
#define KIND_ESN          1u
};

// The cipher of a session.
static inline const struct cipher_alg *crypto_session_cipher(const struct crypto_session *s)
{
	return &cipher_algs[s->kind >> KIND_CIPHER_SHIFT & 0xff];
}

// Whether a session seals, and whether sequence numbers have 64 bits.
static inline bool crypto_session_seals(const struct crypto_session *s)
{
	return (s->kind & KIND_SEALS) != 0;
}

static inline bool crypto_session_esn(const struct crypto_session *s)
{
	return (s->kind & KIND_ESN) != 0;
}

extern const struct crypto_engine crypto_engine_openssl;
extern const struct crypto_engine crypto_engine_ipsec_mb; // where HAVE_IPSEC_MB
