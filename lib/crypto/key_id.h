// SPDX-License-Identifier: BSD-3-Clause
// A name for a key by which it is known again, and which does not give it away: its SHA-256. Any
// thread; allocates nothing, so it cannot fail.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key_id {
	uint8_t octets[32];
};

// The identifier of a key of len octets, which may be 0.
struct key_id key_id_of(const uint8_t *key, size_t len);

bool key_id_equal(const struct key_id *a, const struct key_id *b);
