// SPDX-License-Identifier: BSD-3-Clause
#include "nearest.h"

#include <string.h>

#include <rte_common.h>

#define WORD_MAX 40 // longer words are not compared

// The number of letters to insert, delete, replace or swap with the next to make b of a.
static unsigned int distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned int d[WORD_MAX + 1][WORD_MAX + 1];

	for (unsigned int i = 0; i <= na; i++)
		d[i][0] = i;
	for (unsigned int j = 0; j <= nb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = RTE_MIN(best, d[i - 1][j] + 1);
			best = RTE_MIN(best, d[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = RTE_MIN(best, d[i - 2][j - 2] + 1);
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

void nearest_try(struct nearest *n, const char *word)
{
	size_t len = strlen(word), text_len = strlen(n->text);

	if (len > WORD_MAX || text_len > WORD_MAX)
		return;

	unsigned int d = distance(n->text, text_len, word, len);

	if (d > (len + 2) / 3 || (n->best != NULL && d >= n->distance))
		return;
	n->best = word;
	n->distance = d;
}
