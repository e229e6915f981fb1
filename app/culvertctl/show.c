// SPDX-License-Identifier: BSD-3-Clause
#include "show.h"

#include <string.h>

#include "nearest.h"

static const char *const flow_filters[] = {"address", "port", "proto", "state", "sa", NULL};

static const char *const match_positions[] = {
	"source", "destination", "proto", "destination_port", "source_port", NULL};

static const struct show shows[] = {
#define LIST(list, view, help_) {.word = #list, .help = (help_)},
#define FIELD(list, name, type, role, value, metric)
#define METRIC(list, metric)
#include "field.def"
	{.word = "flows",
		.help = "flows and their state; out: sent in the original direction",
		.filters = flow_filters},
	{.word = "match",
		.help = "decisions for a new packet: SOURCE DESTINATION [PROTO [TO-PORT "
			"[FROM-PORT]]]",
		.positions = match_positions},
};

#define N_SHOWS (sizeof(shows) / sizeof(shows[0]))

const struct show show_flush_flows = {.word = "flows", .filters = flow_filters};

static const char *const trace_filters[] = {
	"address", "port", "proto", "sa", "spi", "policy", "in", "out", "drop", NULL};

const struct show show_trace = {.word = "", .filters = trace_filters};

const struct show *show_find(const char *word)
{
	for (size_t i = 0; i < N_SHOWS; i++)
		if (strcmp(shows[i].word, word) == 0)
			return &shows[i];
	return NULL;
}

const char *show_nearest(const char *word)
{
	struct nearest nearest = {.text = word};

	for (size_t i = 0; i < N_SHOWS; i++)
		nearest_try(&nearest, shows[i].word);
	return nearest.best;
}

void show_help(FILE *out)
{
	for (size_t i = 0; i < N_SHOWS; i++)
		fprintf(out, "  %-12s%s\n", shows[i].word, shows[i].help);
}

bool show_hides_zero(const struct show *show)
{
	return strcmp(show->word, "drops") == 0;
}

void show_remove_zero(json_t *objects)
{
	size_t i = 0;

	while (i < json_array_size(objects)) {
		const json_t *value = json_object_get(json_array_get(objects, i), "packets");

		if (json_is_integer(value) && json_integer_value(value) == 0)
			json_array_remove(objects, i);
		else
			i++;
	}
}
