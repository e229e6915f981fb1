// SPDX-License-Identifier: BSD-3-Clause
#include "question.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "field.h"
#include "nearest.h"

static enum exit_code word_unknown(const char *word)
{
	const char *nearest = show_nearest(word);

	if (nearest != NULL)
		warnx("show: unknown list \"%s\", did you mean \"%s\"? Lists:", word, nearest);
	else
		warnx("show: unknown list \"%s\", lists:", word);
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
		"%s: %s%s%s: unknown filter \"%s\", must be one of:", program_invocation_short_name,
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
			warnx("%s%s%s: filter %s needs a value", command, gap, q->what->word,
				words[0]);
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

// Appends a filter and its value to the question. False if there is no room.
static bool filter_add(struct question *q, const char *filter, const char *value)
{
	size_t len = strlen(q->filter);

	return (size_t)snprintf(q->filter + len, sizeof(q->filter) - len, ",%s=%s", filter, value) <
	       sizeof(q->filter) - len;
}

// Reads words whose places say what they are.
static enum exit_code positions_read(struct question *q, char **words)
{
	const char *const *position = q->what->positions;

	if (words[0] == NULL || words[1] == NULL) {
		warnx("show %s: expected SOURCE DESTINATION [PROTO [TO-PORT [FROM-PORT]]]",
			q->what->word);
		return EXIT_USAGE;
	}
	for (; words[0] != NULL && *position != NULL; words++, position++)
		if (strchr(words[0], ',') != NULL || !filter_add(q, *position, words[0])) {
			warnx("show %s: \"%s\" is too long or contains a comma", q->what->word,
				words[0]);
			return EXIT_USAGE;
		}
	if (words[0] == NULL)
		return EXIT_OK;
	warnx("show %s: unexpected argument \"%s\"", q->what->word, words[0]);
	return EXIT_USAGE;
}

enum exit_code question_read_show(struct question *q, const struct options *options, char **words)
{
	*q = (struct question){.wide = options->wide};
	if (words[0] == NULL) {
		warnx("show: expected one of these lists:");
		show_help(stderr);
		return EXIT_USAGE;
	}
	q->what = show_find(words[0]);
	if (q->what == NULL)
		return word_unknown(words[0]);
	words++;
	q->all = q->what->nonzero != NULL && words[0] != NULL && strcmp(words[0], "all") == 0;
	words += q->all;
	if (q->what->positions != NULL)
		return positions_read(q, words);
	if (q->what->filters != NULL)
		return filters_read(q, "show", words);
	if (!q->all && field_key(q->what->word) != NULL && words[0] != NULL)
		q->name = *words++;
	if (words[0] == NULL)
		return EXIT_OK;
	warnx("show %s: unexpected argument \"%s\"", q->what->word, words[0]);
	return EXIT_USAGE;
}

enum exit_code question_read_flush(struct question *q, char **words)
{
	*q = (struct question){.what = &show_flush_flows};
	if (words[0] != NULL && strcmp(words[0], q->what->word) == 0)
		return filters_read(q, "flush", words + 1);
	warnx("flush: expected \"%s\"", q->what->word);
	return EXIT_USAGE;
}

enum exit_code question_read_trace(struct question *q, char **words)
{
	*q = (struct question){.what = &show_trace};
	return filters_read(q, "trace", words);
}

// Whether a value, text or a number, is the word.
static bool value_is(const json_t *value, const char *word)
{
	char number[24];

	if (json_is_string(value))
		return strcmp(json_string_value(value), word) == 0;
	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return json_is_integer(value) && strcmp(number, word) == 0;
}

static enum exit_code name_unknown(const struct question *q, const char *nearest)
{
	if (nearest != NULL)
		warnx("show %s: there is no \"%s\", did you mean \"%s\"?", q->what->word, q->name,
			nearest);
	else
		warnx("show %s: there is no \"%s\"; show %s lists the names", q->what->word,
			q->name, q->what->word);
	return EXIT_FAILED;
}

enum exit_code question_choose(const struct question *q, json_t *objects)
{
	struct nearest nearest = {.text = q->name};
	size_t i = 0;

	if (q->name == NULL)
		return EXIT_OK;
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

	enum exit_code code = i > 0 ? EXIT_OK : name_unknown(q, nearest.best);

	json_decref(others);
	return code;
}

static bool is_upright(const struct question *q)
{
	return q->what->single || q->name != NULL;
}

// One table for each object, an empty line between two.
static enum exit_code upright_print(json_t *objects, FILE *out)
{
	enum exit_code code = EXIT_OK;

	for (size_t i = 0; i < json_array_size(objects) && code == EXIT_OK; i++) {
		json_t *rows = fields_below_each_other(json_array_get(objects, i));

		if (i > 0)
			putc('\n', out);
		code = output_rows(out, rows);
		json_decref(rows);
	}
	return code;
}

static enum exit_code table_print_objects(const struct question *q, json_t *objects, FILE *out)
{
	json_t *rows = q->wide ? json_incref(objects) : fields_short(q->what->word, objects);
	enum exit_code code = output_rows(out, rows);

	json_decref(rows);
	return code;
}

enum exit_code question_print(const struct question *q, json_t *objects, FILE *out)
{
	if (q->what->nonzero != NULL && !q->all && q->name == NULL)
		show_remove_zero(q->what, objects);
	if (json_array_size(objects) == 0) {
		fprintf(out, "no %s\n", q->what->word);
		return EXIT_OK;
	}
	return is_upright(q) ? upright_print(objects, out) : table_print_objects(q, objects, out);
}
