// SPDX-License-Identifier: BSD-3-Clause
#include "show.h"

#include <string.h>

#include "nearest.h"

// A list of words that ends with NULL.
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const flow_filters[] = {"address", "port", "proto", "state", "sa", NULL};

static const struct show shows[] = {
	{.word = "ports",
		.keys = WORDS("name"),
		.counters = WORDS("rx_packets", "rx_bytes", "rx_missed", "rx_no_buffer",
			"rx_errors", "tx_packets", "tx_bytes", "tx_errors"),
		.help = "ports, their addresses, link and counters"},
	{.word = "sas",
		.keys = WORDS("name"),
		.counters = WORDS("packets", "bytes", "errors"),
		.help = "security associations, algorithms, counters, drops by "
			"reason, lifetimes"},
	{.word = "policies",
		.keys = WORDS("name"),
		.counters = WORDS("asked"),
		.help = "policies in order; asked: packets decided, mostly the "
			"first of a flow each way"},
	{.word = "rules",
		.keys = WORDS("rule"),
		.counters = WORDS("asked"),
		.help = "firewall rules in order, the default last; asked: as of policies"},
	{.word = "flows",
		.keys = WORDS("proto", "source", "source_port", "destination", "destination_port"),
		.counters = WORDS("packets_out", "packets_in", "bytes_out", "bytes_in"),
		.help = "flows and their state; out: what the end that began has sent",
		.filters = flow_filters},
	{.word = "routes", .help = "routes"},
	{.word = "neighbours", .help = "neighbours (ARP, ND) and their state"},
	{.word = "drops",
		.keys = WORDS("reason"),
		.counters = WORDS("packets"),
		.help = "dropped packets by reason; \"drops all\": also the reasons without",
		.nonzero = "packets"},
	{.word = "memory", .help = "pools and tables of fixed size: how much of them is used"},
	{.word = "stages",
		.keys = WORDS("stage"),
		.counters = WORDS("calls", "packets"),
		.help = "what each stage of a pass costs, from one pass in 1024"},
	{.word = "queues",
		.keys = WORDS("port", "queue"),
		.counters = WORDS(
			"bursts_1", "bursts_2", "bursts_4", "bursts_8", "bursts_16", "bursts_32"),
		.help = "receive queues: bursts of 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 "
			"frames"},
	{.word = "workers",
		.keys = WORDS("worker"),
		.counters = WORDS(
			"busy_ms", "idle_ms", "passes", "rx", "originated", "tx", "drops", "local"),
		.help = "workers, their CPUs and counters"},
	{.word = "totals",
		.counters = WORDS("rx", "originated", "tx", "drops", "local", "flows_created",
			"flows_expired", "flows_evicted"),
		.help = "counters of packets and flows of the whole gateway",
		.single = true},
	{.word = "info", .help = "the daemon: version, process, config file", .single = true},
};

#define N_SHOWS (sizeof(shows) / sizeof(shows[0]))

const struct show show_flush_flows = {
	.word = "flows", .command = "flow_flush", .filters = flow_filters};

static const char *const trace_filters[] = {
	"address", "port", "proto", "sa", "spi", "policy", "in", "out", "drop", NULL};

const struct show show_trace = {.word = "", .command = "trace_start", .filters = trace_filters};

const struct show *show_find(const char *word)
{
	for (size_t i = 0; i < N_SHOWS; i++)
		if (strcmp(shows[i].word, word) == 0)
			return &shows[i];
	return NULL;
}

const char *show_command(const struct show *show)
{
	return show->command != NULL ? show->command : show->word;
}

const char *show_nearest(const char *word)
{
	struct nearest nearest;

	nearest_init(&nearest, word);
	for (size_t i = 0; i < N_SHOWS; i++)
		nearest_try(&nearest, shows[i].word);
	return nearest.best;
}

void show_help(FILE *out)
{
	for (size_t i = 0; i < N_SHOWS; i++)
		fprintf(out, "  %-12s%s\n", shows[i].word, shows[i].help);
}

static void remove_zero(json_t *objects, const char *counter)
{
	size_t i = 0;

	while (i < json_array_size(objects)) {
		const json_t *value = json_object_get(json_array_get(objects, i), counter);

		if (json_is_integer(value) && json_integer_value(value) == 0)
			json_array_remove(objects, i);
		else
			i++;
	}
}

static json_t *items_below_each_other(json_t *object)
{
	json_t *rows = json_array();

	for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
		json_t *row = json_pack("{s:s, s:O}", "item", json_object_iter_key(i), "value",
			json_object_iter_value(i));

		if (json_array_append_new(rows, row) != 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return rows;
}

json_t *show_rows(const struct show *show, json_t *objects, bool all)
{
	if (show->single)
		return items_below_each_other(json_array_get(objects, 0));
	if (show->nonzero != NULL && !all)
		remove_zero(objects, show->nonzero);
	return json_incref(objects);
}
