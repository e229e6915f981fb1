// SPDX-License-Identifier: BSD-3-Clause
// HMAC (RFC 2104), truncated as ESP wants it. Private to lib/crypto. A key is prepared once: what
// is left to do per packet is the packet's own blocks. Pure functions, any thread.
//
// Built on libcrypto's low level SHA: docs/decisions/0001-libcrypto-low-level-sha.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Chaining values of the hash behind the block of key and ipad, and of key and opad. As secret as
// the key.
struct hmac_key {
	uint32_t inner[8];
	uint32_t outer[8];
};

// Prepare a key of len octets, at most 64: the block of both hashes.
void hmac_sha1_key_init(struct hmac_key *k, const uint8_t *key, size_t len);
void hmac_sha256_key_init(struct hmac_key *k, const uint8_t *key, size_t len);

// HMAC-SHA1-96 (RFC 2404): 12 octets at icv.
void hmac_sha1_96(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);

// HMAC-SHA-256-128 (RFC 4868): 16 octets at icv.
void hmac_sha256_128(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);
