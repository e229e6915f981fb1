// SPDX-License-Identifier: BSD-3-Clause
// Keyed hash for every table that packets from strangers fill: without the key no sender can choose
// values that collide. (A CRC or a seeded Jenkins hash does not do: their collisions hold for every
// seed, or for enough of them.) Any thread; docs/decisions/0027-keyed-hash.md lists the tables.
//
// The words are compressed by NH (Black, Halevi, Krawczyk, Krovetz, Rogaway, "UMAC", 1999): two
// different keys collide with a probability of 2^-64, whatever they are. The product of the halves
// then removes their linear parts, so that consecutive addresses or ports are spread like random
// ones.
#pragma once

#include <stdint.h>

#define HASH_WORDS_MAX 6 // an even number

// Secret, drawn at start. A key of n words uses n of them (rounded up to even), and the last two.
struct hash_key {
	uint64_t word[HASH_WORDS_MAX + 2];
};

// Draws a random key. Returns 0, or -errno of getrandom(2).
int hash_key_draw(struct hash_key *key);

// Hash of n words, at most HASH_WORDS_MAX. Keys of one table may have different numbers of words:
// the additional words of a longer one are multiplied by random words, too. Any bits of the result
// may be used alone.
static inline __attribute__((always_inline)) uint64_t keyed_hash(
	const struct hash_key *key, const uint64_t word[], unsigned int n)
{
	const uint64_t *k = key->word;
	unsigned __int128 sum = 0, product;
	uint64_t folded;

	for (unsigned int i = 0; i + 1 < n; i += 2)
		sum += (unsigned __int128)(word[i] + k[i]) * (word[i + 1] + k[i + 1]);
	if (n % 2 != 0)
		sum += (unsigned __int128)(word[n - 1] + k[n - 1]) * k[n];
	product = (unsigned __int128)((uint64_t)sum ^ k[HASH_WORDS_MAX]) *
		  ((uint64_t)(sum >> 64) ^ k[HASH_WORDS_MAX + 1]);
	folded = (uint64_t)product ^ (uint64_t)(product >> 64);
	return folded ^ folded >> 32;
}
