// SPDX-License-Identifier: BSD-3-Clause
#include "key_id.h"

#define OPENSSL_SUPPRESS_DEPRECATED

#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

static_assert(sizeof(struct key_id) == SHA256_DIGEST_LENGTH, "room for all");

struct key_id key_id_of(const uint8_t *key, size_t len)
{
	struct key_id id;
	SHA256_CTX c;

	// SHA256() and EVP allocate. A key without a name would have no sequence numbers either.
	SHA256_Init(&c);
	SHA256_Update(&c, key, len);
	SHA256_Final(id.octets, &c);
	OPENSSL_cleanse(&c, sizeof(c));
	return id;
}

bool key_id_equal(const struct key_id *a, const struct key_id *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
