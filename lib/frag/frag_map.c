// SPDX-License-Identifier: BSD-3-Clause
#include "frag_map.h"

#include <string.h>

#define UNITS (64 * FRAG_WORDS)

void frag_map_clear(struct frag_map *map)
{
	map->n_came = map->len = map->n_words = map->reach = 0;
}

// Mask of the bits of word i in the range from <= bit < to.
static uint64_t mask_of(uint32_t i, uint32_t from, uint32_t to)
{
	uint64_t mask = UINT64_MAX;

	if (i == from / 64)
		mask &= UINT64_MAX << from % 64;
	if (i == to / 64)
		mask &= (1ull << to % 64) - 1;
	return mask;
}

static uint32_t units_count(
	const struct frag_map *map, const uint64_t word[], uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = from / 64; i * 64 < to && i < map->n_words; i++)
		n += (uint32_t)__builtin_popcountll(word[i] & mask_of(i, from, to));
	return n;
}

static bool is_set(const struct frag_map *map, const uint64_t word[], uint32_t bit)
{
	return bit / 64 < map->n_words && (word[bit / 64] >> bit % 64 & 1) != 0;
}

// Whether one received fragment had exactly these units.
static bool came_alone(const struct frag_map *map, uint32_t from, uint32_t to)
{
	return units_count(map, map->came, from, to) == to - from &&
	       is_set(map, map->begins, from) && units_count(map, map->begins, from + 1, to) == 0 &&
	       (to == UNITS || !is_set(map, map->came, to) || is_set(map, map->begins, to));
}

// Whether the fragment agrees with the others about the end of the datagram.
static bool end_agrees(const struct frag_map *map, uint32_t end, bool more)
{
	if (map->len == 0)
		return more || map->reach <= (end + FRAG_UNIT - 1) / FRAG_UNIT;
	return more ? end < map->len : end == map->len;
}

// Initialises the words for units up to this one.
static void words_extend(struct frag_map *map, uint32_t to)
{
	for (; map->n_words * 64 < to; map->n_words++)
		map->came[map->n_words] = map->begins[map->n_words] = 0;
}

// Adds a fragment of units that are all missing.
static void units_set(struct frag_map *map, uint32_t from, uint32_t to)
{
	const uint32_t first = from / 64, last = (to - 1) / 64;
	const uint64_t head = UINT64_MAX << from % 64, tail = UINT64_MAX >> (63 - (to - 1) % 64);

	if (first == last) {
		map->came[first] |= head & tail;
	} else {
		map->came[first] |= head;
		for (uint32_t i = first + 1; i < last; i++)
			map->came[i] = UINT64_MAX;
		map->came[last] |= tail;
	}
	map->begins[first] |= 1ull << from % 64;
	map->n_came += to - from;
	map->reach = to > map->reach ? to : map->reach;
}

enum frag_verdict frag_map_add(struct frag_map *map, uint32_t off, uint32_t len, bool more)
{
	uint32_t from = off / FRAG_UNIT, to = (off + len + FRAG_UNIT - 1) / FRAG_UNIT;

	if (!end_agrees(map, off + len, more))
		return FRAG_OVERLAP;
	if (from < map->reach && units_count(map, map->came, from, to) > 0)
		return (more || map->len != 0) && came_alone(map, from, to) ? FRAG_DUPLICATE
									    : FRAG_OVERLAP;
	words_extend(map, to);
	units_set(map, from, to);
	if (!more)
		map->len = off + len;
	return FRAG_NEW;
}
