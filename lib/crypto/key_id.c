// SPDX-License-Identifier: BSD-3-Clause
#include "key_id.h"

#include <assert.h>
#include <string.h>

#include <openssl/sha.h>

static_assert(sizeof(struct key_id) == SHA256_DIGEST_LENGTH, "room for all");

struct key_id key_id_of(const uint8_t *key, size_t len)
{
	struct key_id id;

	SHA256(key, len, id.octets);
	return id;
}

bool key_id_equal(const struct key_id *a, const struct key_id *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
