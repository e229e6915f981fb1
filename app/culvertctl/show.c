// SPDX-License-Identifier: BSD-3-Clause
#include "show.h"

#include <string.h>

#include "nearest.h"

static const char *const flow_filters[] = {"address", "port", "proto", "state", "sa", NULL};

static const char *const match_positions[] = {
	"source", "destination", "proto", "destination_port", "source_port", NULL};

static const struct show shows[] = {
	{.word = "ports", .help = "ports, their addresses, link and counters"},
	{.word = "sas",
		.help = "security associations, algorithms, counters, drops by "
			"reason, lifetimes"},
	{.word = "tunnels",
		.help = "tunnels (policies with action protect), and whether the peer answers"},
	{.word = "policies", .help = "policies in order; packets and bytes: all that each decided"},
	{.word = "rules",
		.help = "firewall rules in order, the default last; counters as for policies"},
	{.word = "flows",
		.help = "flows and their state; out: sent in the original direction",
		.filters = flow_filters},
	{.word = "routes", .help = "routes"},
	{.word = "neighbours", .help = "neighbours (ARP, ND) and their state"},
	{.word = "drops",
		.help = "dropped packets by reason; \"drops all\": also reasons with none",
		.nonzero = "packets"},
	{.word = "match",
		.help = "decisions for a new packet: SOURCE DESTINATION [PROTO [TO-PORT "
			"[FROM-PORT]]]",
		.positions = match_positions,
		.single = true},
	{.word = "memory", .help = "use of pools and tables of fixed size"},
	{.word = "stages", .help = "cycles of each stage of a pass, sampled in one pass of 1024"},
	{.word = "queues",
		.help = "receive queues: bursts of 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 "
			"frames"},
	{.word = "workers", .help = "workers, their CPUs and counters"},
	{.word = "totals", .help = "packet and flow counters of the whole gateway", .single = true},
	{.word = "info", .help = "daemon: version, process, configuration file", .single = true},
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

void show_remove_zero(const struct show *show, json_t *objects)
{
	size_t i = 0;

	while (i < json_array_size(objects)) {
		const json_t *value = json_object_get(json_array_get(objects, i), show->nonzero);

		if (json_is_integer(value) && json_integer_value(value) == 0)
			json_array_remove(objects, i);
		else
			i++;
	}
}
