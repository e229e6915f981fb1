// SPDX-License-Identifier: BSD-3-Clause
#include "question.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "nearest.h"

static void word_unknown(const char *word)
{
	const char *nearest = show_nearest(word);

	if (nearest != NULL)
		warnx("show: unknown list \"%s\", did you mean \"%s\"? Lists:", word, nearest);
	else
		warnx("show: unknown list \"%s\", lists:", word);
	show_help(stderr);
	exit(EXIT_USAGE);
}

static bool is_filter(const struct show *what, const char *word)
{
	const char *const *filter = what->filters;

	while (*filter != NULL && strcmp(*filter, word) != 0)
		filter++;
	return *filter != NULL;
}

static void filter_unknown(const char *command, const struct show *what, const char *word)
{
	fprintf(stderr,
		"%s: %s%s%s: unknown filter \"%s\", must be one of:", program_invocation_short_name,
		command, what->word[0] != '\0' ? " " : "", what->word, word);
	for (const char *const *filter = what->filters; *filter != NULL; filter++)
		fprintf(stderr, " %s", *filter);
	putc('\n', stderr);
	exit(EXIT_USAGE);
}

// Appends a filter and its value to the question. False if there is no room.
static bool filter_add(struct question *q, const char *filter, const char *value)
{
	size_t len = strlen(q->filter);

	return (size_t)snprintf(q->filter + len, sizeof(q->filter) - len, ",%s=%s", filter, value) <
	       sizeof(q->filter) - len;
}

// Reads pairs of words, a filter and its value.
static void filters_read(struct question *q, const char *command, char **words)
{
	const char *gap = q->what->word[0] != '\0' ? " " : "";

	for (; words[0] != NULL; words += 2) {
		if (!is_filter(q->what, words[0]))
			filter_unknown(command, q->what, words[0]);
		if (words[1] == NULL)
			errx(EXIT_USAGE, "%s%s%s: filter %s needs a value", command, gap,
				q->what->word, words[0]);
		if (!filter_add(q, words[0], words[1]))
			errx(EXIT_USAGE, "%s%s%s: the filters are too long", command, gap,
				q->what->word);
	}
}

static void end_check(const struct question *q, char **words)
{
	if (words[0] != NULL)
		errx(EXIT_USAGE, "show %s: unexpected argument \"%s\"", q->what->word, words[0]);
}

// Reads words whose places say what they are.
static void positions_read(struct question *q, char **words)
{
	const char *const *position = q->what->positions;

	if (words[0] == NULL || words[1] == NULL)
		errx(EXIT_USAGE,
			"show %s: expected SOURCE DESTINATION [PROTO [TO-PORT [FROM-PORT]]]",
			q->what->word);
	for (; words[0] != NULL && *position != NULL; words++, position++)
		if (strchr(words[0], ',') != NULL || !filter_add(q, *position, words[0]))
			errx(EXIT_USAGE, "show %s: \"%s\" is too long or contains a comma",
				q->what->word, words[0]);
	end_check(q, words);
}

void question_read_show(struct question *q, const struct options *options, char **words)
{
	*q = (struct question){.wide = options->wide};
	if (words[0] == NULL) {
		warnx("show: expected one of these lists:");
		show_help(stderr);
		exit(EXIT_USAGE);
	}
	q->what = show_find(words[0]);
	if (q->what == NULL)
		word_unknown(words[0]);
	words++;
	q->all = show_hides_zero(q->what) && words[0] != NULL && strcmp(words[0], "all") == 0;
	words += q->all;
	if (q->what->positions != NULL) {
		positions_read(q, words);
	} else if (q->what->filters != NULL) {
		filters_read(q, "show", words);
	} else {
		if (!q->all && field_key(q->what->word) != NULL && words[0] != NULL)
			q->name = *words++;
		end_check(q, words);
	}
}

void question_read_flush(struct question *q, char **words)
{
	*q = (struct question){.what = &show_flush_flows};
	if (words[0] == NULL || strcmp(words[0], q->what->word) != 0)
		errx(EXIT_USAGE, "flush: expected \"%s\"", q->what->word);
	filters_read(q, "flush", words + 1);
}

void question_read_trace(struct question *q, char **words)
{
	*q = (struct question){.what = &show_trace};
	filters_read(q, "trace", words);
}

// Whether a value, text or a number, is the word.
static bool value_is(const json_t *value, const char *word)
{
	char number[24];

	if (json_is_string(value))
		return strcmp(json_string_value(value), word) == 0;
	snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
	return json_is_integer(value) && strcmp(number, word) == 0;
}

static void name_unknown(const struct question *q, const char *nearest)
{
	if (nearest != NULL)
		errx(EXIT_FAILED, "show %s: there is no \"%s\", did you mean \"%s\"?",
			q->what->word, q->name, nearest);
	errx(EXIT_FAILED, "show %s: there is no \"%s\"; show %s lists the names", q->what->word,
		q->name, q->what->word);
}

void question_choose(const struct question *q, json_t *objects)
{
	struct nearest nearest = {.text = q->name};
	size_t i = 0;

	if (q->name == NULL)
		return;
	json_t *others = json_array(); // keeps the names
	while (i < json_array_size(objects)) {
		json_t *object = json_array_get(objects, i);
		const json_t *value = json_object_get(object, field_key(q->what->word));

		if (value_is(value, q->name)) {
			i++;
			continue;
		}
		if (json_is_string(value))
			nearest_try(&nearest, json_string_value(value));
		json_array_append(others, object);
		json_array_remove(objects, i);
	}
	if (i == 0)
		name_unknown(q, nearest.best);
	json_decref(others);
}

// One table for each object, an empty line between two.
static void upright_print(json_t *objects, FILE *out)
{
	for (size_t i = 0; i < json_array_size(objects); i++) {
		json_t *rows = fields_below_each_other(json_array_get(objects, i));

		if (i > 0)
			putc('\n', out);
		output_rows(out, rows);
		json_decref(rows);
	}
}

static void table_print_objects(const struct question *q, json_t *objects, FILE *out)
{
	json_t *rows = q->wide ? json_incref(objects) : fields_short(q->what->word, objects);

	output_rows(out, rows);
	json_decref(rows);
}

void question_print(const struct question *q, json_t *objects, FILE *out)
{
	bool single = q->name != NULL || field_key(q->what->word) == NULL;

	if (show_hides_zero(q->what) && !q->all && q->name == NULL)
		show_remove_zero(objects);
	if (json_array_size(objects) == 0)
		fprintf(out, "no %s\n", q->what->word);
	else if (single)
		upright_print(objects, out);
	else
		table_print_objects(q, objects, out);
}
