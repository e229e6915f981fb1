// SPDX-License-Identifier: BSD-3-Clause
// Seeded hashing by multiplication: fast, and what collides is not known without the seed. (A CRC
// is faster still, but its collisions are the same under every seed.) Pure functions.
#pragma once

#include <stdint.h>

#include "flow_pkt.h"

static inline uint64_t flow_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint32_t flow_key_hash(const struct flow_key *k, const uint64_t seed[6])
{
	uint64_t h = flow_mix(k->q[0] ^ seed[0], k->q[1] ^ seed[1]) ^
		     flow_mix(k->q[2] ^ seed[2], k->q[3] ^ seed[3]);

	h = flow_mix(h ^ seed[4], k->q[4] ^ seed[5]);
	return (uint32_t)(h ^ h >> 32);
}
