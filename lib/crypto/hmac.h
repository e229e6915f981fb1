// SPDX-License-Identifier: BSD-3-Clause
// HMAC (RFC 2104), truncated as ESP wants it. Private to lib/crypto. A key is prepared once: what
// is left to do per packet is the packet's own blocks. Pure functions, any thread.
//
// Built on libcrypto's low level SHA: docs/decisions/0001-libcrypto-low-level-sha.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Chaining values of the hash behind the block of key and ipad, and of key and opad. As secret as
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

// Prepare a key of len octets, at most the block of the hash: 64, of SHA-384 and SHA-512 128.
void hmac_sha1_key_init(struct hmac_key *k, const uint8_t *key, size_t len);
void hmac_sha256_key_init(struct hmac_key *k, const uint8_t *key, size_t len);
void hmac_sha384_key_init(struct hmac_key *k, const uint8_t *key, size_t len);
void hmac_sha512_key_init(struct hmac_key *k, const uint8_t *key, size_t len);

// HMAC-SHA1-96 (RFC 2404): 12 octets at icv, which may lie within data.
void hmac_sha1_96(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);

// HMAC-SHA-256-128, HMAC-SHA-384-192, HMAC-SHA-512-256 (RFC 4868): 16, 24, 32 octets at icv, which
// may lie within data.
void hmac_sha256_128(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);
void hmac_sha384_192(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);
void hmac_sha512_256(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);
