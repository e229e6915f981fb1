// SPDX-License-Identifier: BSD-3-Clause
// HMAC (RFC 2104), truncated for ESP. Private to lib/crypto. A key is prepared once: a packet costs
// only its own blocks. Pure functions, any thread.
//
// Built on libcrypto's low level SHA: docs/decisions/0001-libcrypto-low-level-sha.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "alg.h"

// Chaining values of the hash after the block of key and ipad, and of key and opad. As secret as
// the key. SHA-1 and SHA-256 touch one cache line of it, SHA-384 and SHA-512 two.
struct hmac_key {
	union {
		struct {
			uint32_t inner[8], outer[8];
		} of32; // SHA-1 and SHA-256, which have words of 32 bits
		struct {
			uint64_t inner[8], outer[8];
		} of64; // SHA-384 and SHA-512
	};
};

struct hmac_alg {
	// Writes the chaining values of the hash after a block.
	void (*start)(void *state, const uint8_t *block);
	uint8_t outer_off; // of the outer chaining values in struct hmac_key, octets
	// Writes the truncated HMAC (RFC 2404, RFC 4868) of len octets to icv, which may lie within
	// data.
	void (*hmac)(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);
};

extern const struct hmac_alg hmac_algs[]; // by enum auth_mode

// Prepares a key of len octets, at most the block of the hash: 64, of SHA-384 and SHA-512 128.
void hmac_key_init(enum auth_mode mode, struct hmac_key *k, const uint8_t *key, size_t len);
