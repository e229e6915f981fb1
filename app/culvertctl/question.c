// SPDX-License-Identifier: BSD-3-Clause
#include "question.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum exit_code word_unknown(const char *word)
{
	const char *nearest = show_nearest(word);

	if (nearest != NULL)
		warnx("show: \"%s\" is unknown, did you mean \"%s\"? There are:", word, nearest);
	else
		warnx("show: \"%s\" is unknown, there are:", word);
	show_help(stderr);
	return EXIT_USAGE;
}

static bool is_filter(const struct show *what, const char *word)
{
	const char *const *filter = what->filters;

	while (*filter != NULL && strcmp(*filter, word) != 0)
		filter++;
	return *filter != NULL;
}

static enum exit_code filter_unknown(const char *command, const struct show *what, const char *word)
{
	fprintf(stderr,
		"%s: %s%s%s: \"%s\" is no filter, there are:", program_invocation_short_name,
		command, what->word[0] != '\0' ? " " : "", what->word, word);
	for (const char *const *filter = what->filters; *filter != NULL; filter++)
		fprintf(stderr, " %s", *filter);
	putc('\n', stderr);
	return EXIT_USAGE;
}

// Reads pairs of words, a filter and its value.
static enum exit_code filters_read(struct question *q, const char *command, char **words)
{
	const char *gap = q->what->word[0] != '\0' ? " " : "";
	size_t len = 0;

	for (; words[0] != NULL; words += 2) {
		if (!is_filter(q->what, words[0]))
			return filter_unknown(command, q->what, words[0]);
		if (words[1] == NULL) {
			warnx("%s%s%s: %s: of which value?", command, gap, q->what->word, words[0]);
			return EXIT_USAGE;
		}
		len += (size_t)snprintf(
			q->filter + len, sizeof(q->filter) - len, ",%s=%s", words[0], words[1]);
		if (len >= sizeof(q->filter)) {
			warnx("%s%s%s: the filters are too long", command, gap, q->what->word);
			return EXIT_USAGE;
		}
	}
	return EXIT_OK;
}

enum exit_code question_read_show(struct question *q, char **words)
{
	*q = (struct question){};
	if (words[0] == NULL) {
		warnx("show: what? There are:");
		show_help(stderr);
		return EXIT_USAGE;
	}
	q->what = show_find(words[0]);
	if (q->what == NULL)
		return word_unknown(words[0]);
	words++;
	q->all = q->what->nonzero != NULL && words[0] != NULL && strcmp(words[0], "all") == 0;
	words += q->all;
	if (q->what->filters != NULL)
		return filters_read(q, "show", words);
	if (words[0] == NULL)
		return EXIT_OK;
	warnx("show %s: \"%s\" is one word too many", q->what->word, words[0]);
	return EXIT_USAGE;
}

enum exit_code question_read_flush(struct question *q, char **words)
{
	*q = (struct question){.what = &show_flush_flows};
	if (words[0] != NULL && strcmp(words[0], q->what->word) == 0)
		return filters_read(q, "flush", words + 1);
	warnx("flush: what? There is: %s", q->what->word);
	return EXIT_USAGE;
}

enum exit_code question_read_trace(struct question *q, char **words)
{
	*q = (struct question){.what = &show_trace};
	return filters_read(q, "trace", words);
}

enum exit_code question_print(const struct question *q, json_t *objects, FILE *out)
{
	json_t *rows = show_rows(q->what, objects, q->all);
	enum exit_code code = output_rows(out, rows);

	if (code == EXIT_OK && json_array_size(rows) == 0)
		fprintf(out, "no %s\n", q->what->word);
	json_decref(rows);
	return code;
}
