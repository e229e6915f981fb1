// SPDX-License-Identifier: BSD-3-Clause
// Repeats "show", with rates.
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "command.h"
#include "field.h"
#include "question.h"
#include "rates.h"
#include "screen.h"

#define SECONDS_MAX 3600

// One line for programs, for each picture.
static void json_line_print(const struct question *q, const json_t *objects)
{
	json_t *line = json_pack("{s:o}", q->what->word, fields_typed(q->what->word, objects));

	json_dumpf(line, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static enum exit_code picture_print(const struct question *q, json_t *objects)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	enum exit_code code;

	if (out == NULL)
		err(EXIT_FAILED, NULL);
	code = question_print(q, objects, out);
	if (fclose(out) == 0 && code == EXIT_OK)
		screen_show(text);
	free(text);
	return code;
}

// Asks once, and shows what has changed since before, which becomes the new answer.
static enum exit_code step(const struct options *options, const struct target *target,
	const struct question *q, struct sample *before)
{
	json_t *objects;
	enum exit_code code = ask_list(&objects, target, q->what->word, q->filter);
	struct sample now;

	if (code != EXIT_OK)
		return code;
	code = question_choose(q, objects);
	if (code != EXIT_OK) {
		json_decref(objects);
		return code;
	}
	now = sample_of(objects);
	objects = rates_add(q->what, before, &now);
	if (options->json)
		json_line_print(q, objects);
	else
		code = picture_print(q, objects);
	json_decref(objects);
	sample_fini(before);
	*before = now;
	return code;
}

static enum exit_code usage(void)
{
	warnx("watch: expected [SECONDS] show ..., SECONDS from 1 to %d", SECONDS_MAX);
	return EXIT_USAGE;
}

enum exit_code command_watch(const struct options *options, char **words)
{
	struct sample before = {};
	struct target target;
	struct question q;
	unsigned long seconds = 1;
	enum exit_code code;
	char *end = "";

	if (words[0] != NULL && strcmp(words[0], "show") != 0)
		seconds = strtoul(*words++, &end, 10);
	if (*end != '\0' || seconds < 1 || seconds > SECONDS_MAX || words[0] == NULL ||
		strcmp(words[0], "show") != 0)
		return usage();
	code = question_read_show(&q, options, words + 1);
	if (code == EXIT_OK)
		code = target_init(&target, options->instance);
	if (code != EXIT_OK)
		return code;
	screen_begin();
	do
		code = step(options, &target, &q, &before);
	while (code == EXIT_OK && screen_wait((unsigned int)seconds * 1000));
	screen_end();
	sample_fini(&before);
	target_fini(&target);
	return code;
}
