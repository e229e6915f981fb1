// SPDX-License-Identifier: BSD-3-Clause
// The algorithms of ESP (RFC 8221) as data: names, lengths, limits. The config reader checks
// against it, the engines implement it. Immutable, any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cipher_mode {
#define CIPHER_MODE(mode, ...) CIPHER_##mode,
#include "cipher_mode.def"
};

struct cipher_alg {
	const char *name;    // as in the config and in every output
	const char *aliases; // other spellings, separated by blanks; "" if none
	enum cipher_mode mode;
	uint8_t key_len;  // octets, without the salt
	uint8_t salt_len; // octets after the key in the keying material
	uint8_t iv_len;   // octets of IV in the packet
	uint8_t block; // the encrypted part is a multiple of this; 4 where the cipher asks nothing
	uint8_t icv_len;    // of a cipher that authenticates as well, else 0
	uint64_t bytes_max; // octets that one key should process: default of the hard lifetime
};

enum auth_mode {
	AUTH_NONE, // the cipher authenticates
	AUTH_HMAC_SHA1,
	AUTH_HMAC_SHA256,
	AUTH_HMAC_SHA384,
	AUTH_HMAC_SHA512,
};

struct auth_alg {
	const char *name;
	const char *aliases;
	enum auth_mode mode;
	uint8_t key_len; // octets
	uint8_t icv_len; // octets in the packet
};

// Tables end with an entry whose name is NULL.
extern const struct cipher_alg cipher_algs[];
extern const struct auth_alg auth_algs[];

#define CRYPTO_ICV_MAX        32
#define CRYPTO_IV_MAX         16
#define CRYPTO_CIPHER_KEY_MAX 36 // key and salt
#define CRYPTO_AUTH_KEY_MAX   64

// By name or alias, letter case ignored. NULL if there is none.
const struct cipher_alg *cipher_alg_find(const char *name);
const struct auth_alg *auth_alg_find(const char *name);

// Whether the two make an SA that protects integrity: a plain cipher with an authenticator, or an
// AEAD without (RFC 4303 1, RFC 8221 4).
static inline bool alg_pair_ok(const struct cipher_alg *cipher, const struct auth_alg *auth)
{
	return (cipher->icv_len != 0) == (auth->mode == AUTH_NONE);
}

// Whether the IV must only never repeat under one key: made of the sequence number, see
// crypto_seal().
static inline bool cipher_alg_counts(const struct cipher_alg *cipher)
{
	return cipher->mode != CIPHER_NULL && cipher->mode != CIPHER_CBC;
}

static inline uint8_t alg_pair_icv_len(const struct cipher_alg *cipher, const struct auth_alg *auth)
{
	return cipher->icv_len != 0 ? cipher->icv_len : auth->icv_len;
}
