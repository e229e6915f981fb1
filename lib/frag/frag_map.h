// SPDX-License-Identifier: BSD-3-Clause
// Received octets of a datagram (RFC 791 3.2, RFC 8200 4.5): a bit for each 8 of them, so that the
// cost of a fragment depends neither on their number nor on their order. Workers; pure functions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FRAG_UNIT  8 // octets: the unit of offsets
#define FRAG_WORDS (65536 / FRAG_UNIT / 64)

struct frag_map {
	uint32_t n_came;  // bits set in came
	uint32_t len;     // octets of the datagram; 0: the last fragment is missing
	uint32_t n_words; // in use; later ones are not initialised, and count as 0
	uint32_t reach;   // no bit from this one on is set in came
	uint64_t came[FRAG_WORDS];
	uint64_t begins[FRAG_WORDS]; // a fragment begins here
};

enum frag_verdict {
	FRAG_NEW,
	FRAG_DUPLICATE, // exactly this one was received before
	FRAG_OVERLAP,   // parts of it were, or it contradicts the others about the end
};

void frag_map_clear(struct frag_map *map);

// Adds a fragment of len octets, at least 1, from octet off, a multiple of 8. Unless it is the last
// (more), len is a multiple of 8 as well. Together they are at most 65535. Unchanged unless
// FRAG_NEW.
enum frag_verdict frag_map_add(struct frag_map *map, uint32_t off, uint32_t len, bool more);

// Whether the datagram is complete; map->len is its length then.
static inline bool frag_map_is_complete(const struct frag_map *map)
{
	return map->len != 0 && map->n_came == (map->len + FRAG_UNIT - 1) / FRAG_UNIT;
}
