// SPDX-License-Identifier: BSD-3-Clause
// Finds the word that was probably meant. One thread.
#pragma once

#include <stddef.h>

struct nearest {
	const char *word; // as it was written
	const char *best; // the nearest so far; NULL: none is near
	size_t limit;     // a nearer one has fewer letters wrong
};

void nearest_init(struct nearest *n, const char *word);

// Offers a candidate, of at most 31 octets. It stays the caller's.
void nearest_try(struct nearest *n, const char *candidate);
