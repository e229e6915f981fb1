// SPDX-License-Identifier: BSD-3-Clause
// Repeats "show", with rates.
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "field.h"
#include "instances.h"
#include "query.h"
#include "rates.h"
#include "screen.h"

#define SECONDS_MAX 3600

// One line for programs, for each picture.
static void json_line_print(const struct query *q, const json_t *objects)
{
	json_t *line = json_pack("{s:o}", q->list->word, fields_typed(q->list->word, objects));

	json_dumpf(line, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static void picture_print(const struct query *q, json_t *objects)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		err(EXIT_FAILED, NULL);
	query_print(q, objects, out);
	if (fclose(out) == 0)
		screen_show(text);
	free(text);
}

// Queries once, and shows the changes since the previous answer, which the new one replaces.
static void watch_step(const struct options *options, const char *instance, const struct query *q,
	struct sample *before)
{
	json_t *objects = query_get(instance, q->list->word, q->filter);
	struct sample now;

	query_choose(q, objects);
	now = sample_of(objects);
	objects = rates_add(q->list->word, before, &now);
	if (options->json)
		json_line_print(q, objects);
	else
		picture_print(q, objects);
	json_decref(objects);
	sample_fini(before);
	*before = now;
}

enum exit_code command_watch(const struct options *options, char **words)
{
	struct sample before = {};
	const char *instance;
	struct query q;
	unsigned long seconds = 1;
	char *end = "";

	if (words[0] != NULL && strcmp(words[0], "show") != 0)
		seconds = strtoul(*words++, &end, 10);
	if (*end != '\0' || seconds < 1 || seconds > SECONDS_MAX || words[0] == NULL ||
		strcmp(words[0], "show") != 0)
		errx(EXIT_USAGE, "watch: expected [SECONDS] show ..., SECONDS from 1 to %d",
			SECONDS_MAX);
	query_read_show(&q, options, words + 1);
	instance = instance_choose(options->instance);
	screen_begin();
	do
		watch_step(options, instance, &q, &before);
	while (screen_wait((unsigned int)seconds * 1000));
	sample_fini(&before);
	return EXIT_OK;
}
