// SPDX-License-Identifier: BSD-3-Clause
// AES-CBC encryption of one packet with the AES instructions, where the lanes of ipsec-mb would
// have nothing beside it. Private to lib/crypto. Pure function, any thread.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

// Encrypts len octets at data in place, whole blocks, chained on zeros. keys are the rounds + 1
// expanded keys, aligned.
__attribute__((target("aes"))) static inline void aes_cbc_encrypt(
	const uint8_t keys[][16], unsigned int rounds, uint8_t *data, size_t len)
{
	const __m128i *k = (const __m128i *)keys;
	__m128i x = _mm_setzero_si128();

	for (__m128i *block = (__m128i *)data; block < (__m128i *)(data + len); block++) {
		x = _mm_xor_si128(x, _mm_xor_si128(_mm_loadu_si128(block), k[0]));
		for (unsigned int r = 1; r < rounds; r++)
			x = _mm_aesenc_si128(x, k[r]);
		x = _mm_aesenclast_si128(x, k[rounds]);
		_mm_storeu_si128(block, x);
	}
}
