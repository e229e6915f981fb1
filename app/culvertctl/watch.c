// SPDX-License-Identifier: BSD-3-Clause
// Repeats "show", with rates.
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "field.h"
#include "instances.h"
#include "query.h"
#include "rates.h"
#include "screen.h"

struct watch {
	const struct options *options;
	struct query q;
	json_t *objects; // with rates
};

// One line for programs, for each answer.
static void json_line_print(const struct query *q, const json_t *objects)
{
	output_json_line(json_pack("{s:o}", q->list->word, fields_typed(q->list->word, objects)));
}

static void objects_show(void *arg)
{
	const struct watch *w = arg;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (w->options->json) {
		json_line_print(&w->q, w->objects);
		return;
	}
	out = open_memstream(&text, &len);
	if (out == NULL)
		err(EXIT_FAILED, NULL);
	query_print(&w->q, w->objects, out);
	if (fclose(out) == 0)
		screen_show(text);
	free(text);
}

// Queries once, and shows the changes since the previous answer, which the new one replaces.
static void watch_step(struct watch *w, const char *instance, struct sample *before)
{
	json_t *objects = query_get(instance, w->q.list->word, w->q.filter);
	struct sample now;

	query_choose(&w->q, objects);
	now = sample_of(objects);
	json_decref(w->objects);
	w->objects = rates_add(w->q.list->word, before, &now);
	sample_fini(before);
	*before = now;
	objects_show(w);
}

enum exit_code command_show_watch(const struct options *options, char **words)
{
	struct watch w = {.options = options};
	struct sample before = {};
	const char *instance;

	query_read_show(&w.q, options, words);
	instance = instance_choose(options->instance);
	screen_begin();
	do
		watch_step(&w, instance, &before);
	while (screen_wait(options->watch * 1000, objects_show, &w));
	sample_fini(&before);
	json_decref(w.objects);
	return EXIT_OK;
}
