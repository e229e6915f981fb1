// SPDX-License-Identifier: BSD-3-Clause
// Padding of inbound ESP (RFC 4303 2.4). Workers. tests/proof/pad.c proves its annotations.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_esp.h>

#define PADDING_USUAL 16u // octets: more than a cipher's block needs

static inline uint64_t padding_load(const uint8_t *at)
{
	uint64_t octets;

	memcpy(&octets, at, sizeof(octets));
	return octets;
}

static __rte_noinline bool padding_long_ok(const uint8_t *end, uint8_t pad_len)
{
	uint8_t wrong = 0;

	for (int i = -pad_len; i < 0; i++)
		wrong |= (uint8_t)(end[i] ^ (pad_len + i + 1));
	return wrong == 0;
}

// 0 if those of 8 octets that count are correct.
static inline uint64_t padding_wrong(const uint8_t *at, const uint8_t *right, const uint8_t *counts)
{
	return (padding_load(at) ^ padding_load(right)) & padding_load(counts);
}

// Checks at most PADDING_USUAL octets, in two words that end where the padding ends; other octets
// of the words do not count.
static inline bool padding_usual_ok(const uint8_t *end, uint8_t pad_len)
{
	static const uint8_t right[2 * PADDING_USUAL] = {
		[PADDING_USUAL] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	static const uint8_t counts[2 * PADDING_USUAL] = {
		[PADDING_USUAL... 2 * PADDING_USUAL - 1] = UINT8_MAX};
	uint64_t first = padding_wrong(end - 16, right + pad_len, counts + pad_len);
	uint64_t second = padding_wrong(end - 8, right + pad_len + 8, counts + pad_len + 8);

	return (first | second) == 0;
}

// Whether the octets in front of the trailer of a text of len octets are 1, 2, 3, ..., as many as
// the trailer declares. Reads up to PADDING_USUAL octets in front of them: the text must have
// headers in front of it.
static inline bool padding_ok(const uint8_t *text, uint32_t len)
{
	const uint8_t *end = text + len - sizeof(struct rte_esp_tail);
	uint8_t pad_len = *end;

	if (unlikely(pad_len > len - sizeof(struct rte_esp_tail)))
		return false;
	if (unlikely(pad_len > PADDING_USUAL))
		return padding_long_ok(end, pad_len);
	return padding_usual_ok(end, pad_len);
}
