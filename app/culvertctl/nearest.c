// SPDX-License-Identifier: BSD-3-Clause
#include "nearest.h"

#include <string.h>

#define WORD_MAX 31 // octets; a longer word is near to none

// The letters to insert, delete or replace that make a into b (Levenshtein), by rows of the usual
// matrix. b is at most WORD_MAX long.
static size_t distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= len; j++) {
			size_t best = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[len];
}

void nearest_init(struct nearest *n, const char *word)
{
	size_t len = strlen(word);

	// Half of the letters right, or it is another word.
	*n = (struct nearest){.word = word, .limit = len <= WORD_MAX ? len / 2 + 1 : 0};
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t d = n->limit > 0 ? distance(candidate, n->word) : 0;

	if (d < n->limit) {
		n->limit = d;
		n->best = candidate;
	}
}
