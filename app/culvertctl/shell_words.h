// SPDX-License-Identifier: BSD-3-Clause
// Words of a line of the shell. Quotes are those of sh(1): '...' and "..." with a backslash before
// a character. Settings in braces, { name = "a b"; }, are one word as they stand. One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SHELL_WORDS_MAX 64

struct shell_words {
	char *word[SHELL_WORDS_MAX + 1]; // ends with NULL
	size_t n;
	bool open;     // the line ends inside quotes or braces
	bool too_many; // more than SHELL_WORDS_MAX: the rest is left out
	char *text;    // private, with its octets
	size_t size;
};

// A line that begins with # has no words. Without memory the program ends.
void shell_words_split(struct shell_words *words, const char *line);

void shell_words_free(struct shell_words *words);
