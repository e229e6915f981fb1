// SPDX-License-Identifier: BSD-3-Clause
#include "shell_words.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

struct reader {
	const char *from;
	char *to;
	bool open;
};

static void copy_one(struct reader *r)
{
	*r->to++ = *r->from++;
}

// Up to the closing quote. raw: quotes and backslashes stay.
static void quoted_read(struct reader *r, bool raw)
{
	char quote = *r->from;

	if (raw)
		copy_one(r);
	else
		r->from++;
	while (*r->from != '\0' && *r->from != quote) {
		if (quote == '"' && r->from[0] == '\\' && r->from[1] != '\0') {
			if (raw)
				copy_one(r);
			else
				r->from++;
		}
		copy_one(r);
	}
	r->open = *r->from == '\0';
	if (raw && !r->open)
		copy_one(r);
	else
		r->from += !r->open;
}

// Settings in braces, up to the last of them.
static void braces_read(struct reader *r)
{
	unsigned int depth = 0;

	do {
		depth += *r->from == '{';
		depth -= *r->from == '}';
		if (*r->from == '"')
			quoted_read(r, true);
		else
			copy_one(r);
	} while (depth > 0 && *r->from != '\0');
	r->open |= depth > 0;
}

static void word_read(struct reader *r)
{
	while (*r->from != '\0' && strchr(" \t\r\n", *r->from) == NULL) {
		if (*r->from == '"' || *r->from == '\'') {
			quoted_read(r, false);
			continue;
		}
		if (r->from[0] == '\\' && r->from[1] != '\0')
			r->from++;
		copy_one(r);
	}
	*r->to++ = '\0';
}

void shell_words_split(struct shell_words *words, const char *line)
{
	struct reader r = {.from = line + strspn(line, " \t\r\n")};

	*words = (struct shell_words){.size = 2 * strlen(line) + 2};
	words->text = malloc(words->size);
	if (words->text == NULL)
		err(EXIT_FAILED, NULL);
	for (r.to = words->text; *r.from != '\0' && line[strspn(line, " \t")] != '#';
		r.from += strspn(r.from, " \t\r\n")) {
		words->too_many = words->n == SHELL_WORDS_MAX;
		if (words->too_many)
			break;
		words->word[words->n++] = r.to;
		if (*r.from == '{')
			braces_read(&r);
		word_read(&r);
	}
	words->open = r.open;
}

void shell_words_free(struct shell_words *words)
{
	explicit_bzero(words->text, words->size); // keys
	free(words->text);
}
