// SPDX-License-Identifier: BSD-3-Clause
// Finds the word most similar to an unknown text, for messages. Control thread and culvertctl.
#pragma once

// Start with {.text = text}. best stays NULL if no word is similar.
struct nearest {
	const char *text;
	const char *best;
	unsigned int distance;
};

// Offers a word, which must outlive n.
void nearest_try(struct nearest *n, const char *word);
