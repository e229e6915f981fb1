// SPDX-License-Identifier: BSD-3-Clause
#include "query.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field.h"
#include "instances.h"
#include "nearest.h"

static const char *const flow_filters[] = {"address", "port", "proto", "state", "sa", "nat", NULL};

static const char *const match_positions[] = {
	"source", "destination", "proto", "destination_port", "source_port", NULL};

const struct query_list query_lists[] = {
#define LIST(list, help_) {.word = #list, .help = (help_)},
#include "field.def"
	{.word = "flows",
		.help = "flows and their state; out: sent in the original direction",
		.filters = flow_filters},
	{.word = "match",
		.help = "decisions for a new packet: SOURCE DESTINATION [PROTO [TO-PORT "
			"[FROM-PORT]]]",
		.positions = match_positions},
};

const size_t query_n_lists = sizeof(query_lists) / sizeof(query_lists[0]);

static const char *const trace_filters[] = {
	"address", "port", "proto", "sa", "spi", "policy", "in", "out", "drop", NULL};

const struct query_list query_trace = {.word = "", .filters = trace_filters};

void query_help(FILE *out)
{
	for (size_t i = 0; i < query_n_lists; i++)
		fprintf(out, "  %-15s%s\n", query_lists[i].word, query_lists[i].help);
	fputs("  config         running configuration, run-time changes included, as a file; "
	      "without "
	      "keys\n",
		out);
}

// --- reading ---

static void list_unknown(const char *word)
{
	struct nearest nearest = {.text = word};

	for (size_t i = 0; i < query_n_lists; i++)
		nearest_try(&nearest, query_lists[i].word);
	if (nearest.best != NULL)
		warnx("show: unknown list \"%s\", did you mean \"%s\"? Lists:", word, nearest.best);
	else
		warnx("show: unknown list \"%s\", lists:", word);
	query_help(stderr);
	exit(EXIT_USAGE);
}

static const struct query_list *list_find(const char *word)
{
	for (size_t i = 0; i < query_n_lists; i++)
		if (strcmp(query_lists[i].word, word) == 0)
			return &query_lists[i];
	list_unknown(word);
	return NULL;
}

// Whether only objects with packets are shown by default.
static bool hides_zero(const struct query_list *list)
{
	return strcmp(list->word, "drops") == 0;
}

const char *query_filter(const struct query_list *list, unsigned int i)
{
	return list->filters != NULL ? list->filters[i] : field_filter(list->word, i);
}

static bool is_filter(const struct query_list *list, const char *word)
{
	const char *filter;

	for (unsigned int i = 0; (filter = query_filter(list, i)) != NULL; i++)
		if (strcmp(filter, word) == 0)
			return true;
	return false;
}

static void filter_unknown(const char *command, const struct query_list *list, const char *word)
{
	const char *filter;

	fprintf(stderr,
		"%s: %s%s%s: unknown filter \"%s\", must be one of:", program_invocation_short_name,
		command, list->word[0] != '\0' ? " " : "", list->word, word);
	for (unsigned int i = 0; (filter = query_filter(list, i)) != NULL; i++)
		fprintf(stderr, " %s", filter);
	putc('\n', stderr);
	exit(EXIT_USAGE);
}

// Appends a filter and its value to the query. False if there is no room.
static bool filter_add(struct query *q, const char *filter, const char *value)
{
	size_t len = strlen(q->filter);

	return (size_t)snprintf(q->filter + len, sizeof(q->filter) - len, ",%s=%s", filter, value) <
	       sizeof(q->filter) - len;
}

// Reads pairs of words, a filter and its value.
static void filters_read(struct query *q, const char *command, char **words)
{
	const char *gap = q->list->word[0] != '\0' ? " " : "";

	for (; words[0] != NULL; words += 2) {
		if (!is_filter(q->list, words[0]))
			filter_unknown(command, q->list, words[0]);
		if (words[1] == NULL)
			errx(EXIT_USAGE, "%s%s%s: filter %s needs a value", command, gap,
				q->list->word, words[0]);
		if (strchr(words[1], ',') != NULL || !filter_add(q, words[0], words[1]))
			errx(EXIT_USAGE, "%s%s%s: the filters are too long, or contain a comma",
				command, gap, q->list->word);
	}
}

// Reads words whose places determine their meaning.
static void positions_read(struct query *q, char **words)
{
	const char *const *position = q->list->positions;

	if (words[0] == NULL || words[1] == NULL)
		errx(EXIT_USAGE,
			"show %s: expected SOURCE DESTINATION [PROTO [TO-PORT [FROM-PORT]]]",
			q->list->word);
	for (; words[0] != NULL && *position != NULL; words++, position++)
		if (strchr(words[0], ',') != NULL || !filter_add(q, *position, words[0]))
			errx(EXIT_USAGE, "show %s: \"%s\" is too long or contains a comma",
				q->list->word, words[0]);
	if (words[0] != NULL)
		errx(EXIT_USAGE, "show %s: unexpected argument \"%s\"", q->list->word, words[0]);
}

// A single word is the name of an object, unless it is a filter whose value is missing.
static bool is_name(const struct query *q, char **words)
{
	return !q->all && q->list->filters == NULL && field_key(q->list->word) != NULL &&
	       words[0] != NULL && words[1] == NULL && !is_filter(q->list, words[0]);
}

void query_read_show(struct query *q, const struct options *options, char **words)
{
	*q = (struct query){.wide = options->wide};
	if (words[0] == NULL) {
		warnx("show: expected one of these lists:");
		query_help(stderr);
		exit(EXIT_USAGE);
	}
	q->list = list_find(*words++);
	q->all = hides_zero(q->list) && words[0] != NULL && strcmp(words[0], "all") == 0;
	words += q->all;
	if (q->list->positions != NULL)
		positions_read(q, words);
	else if (is_name(q, words))
		q->name = words[0];
	else
		filters_read(q, "show", words);
}

void query_read_flush(struct query *q, char **words)
{
	if (words[0] == NULL ||
		(strcmp(words[0], "flows") != 0 && strcmp(words[0], "neighbours") != 0))
		errx(EXIT_USAGE, "flush: expected \"flows\" or \"neighbours\"");
	*q = (struct query){.list = list_find(words[0])};
	filters_read(q, "flush", words + 1);
}

void query_read_trace(struct query *q, char **words)
{
	*q = (struct query){.list = &query_trace};
	filters_read(q, "trace", words);
}

// --- the answer ---

static int objects_get(
	json_t *objects, const struct sockaddr_un *addr, const char *list, const char *filter)
{
	char path[64];
	pid_t pid;
	int fd = client_open(&pid, addr);
	int ret;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/culvert/%s", list);
	ret = client_list(objects, fd, path, filter);
	close(fd);
	return ret;
}

void query_get_more(json_t *objects, const char *instance, const char *list, const char *filter)
{
	struct sockaddr_un addr;
	int ret;

	instance_address(&addr, instance, INSTANCE_TELEMETRY);
	ret = objects_get(objects, &addr, list, filter);
	if (ret == -EBADRQC)
		instance_refused(instance, json_string_value(json_array_get(objects, 0)));
	if (ret != 0)
		errx(EXIT_FAILED, "instance %s (%s): %s", instance, addr.sun_path,
			client_strerror(ret));
}

json_t *query_get(const char *instance, const char *list, const char *filter)
{
	json_t *objects = json_array();

	if (objects == NULL)
		err(EXIT_FAILED, NULL);
	query_get_more(objects, instance, list, filter);
	return objects;
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

static void name_unknown(const struct query *q, const char *nearest)
{
	if (nearest != NULL)
		errx(EXIT_FAILED, "show %s: there is no \"%s\", did you mean \"%s\"?",
			q->list->word, q->name, nearest);
	errx(EXIT_FAILED, "show %s: there is no \"%s\"; show %s lists the names", q->list->word,
		q->name, q->list->word);
}

void query_choose(const struct query *q, json_t *objects)
{
	struct nearest nearest = {.text = q->name};
	size_t i = 0;

	if (q->name == NULL)
		return;
	json_t *others = json_array(); // keeps the names
	while (i < json_array_size(objects)) {
		json_t *object = json_array_get(objects, i);
		const json_t *value = json_object_get(object, field_key(q->list->word));

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

static void zero_remove(json_t *objects)
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

static void table_print_objects(const struct query *q, json_t *objects, FILE *out)
{
	json_t *rows = q->wide ? json_incref(objects) : fields_short(q->list->word, objects);

	output_rows(out, rows);
	json_decref(rows);
}

void query_print(const struct query *q, json_t *objects, FILE *out)
{
	bool single = q->name != NULL || field_key(q->list->word) == NULL;

	if (hides_zero(q->list) && !q->all && q->name == NULL)
		zero_remove(objects);
	fields_absent(q->list->word, objects);
	if (json_array_size(objects) == 0)
		fprintf(out, "no %s\n", q->list->word);
	else if (single)
		upright_print(objects, out);
	else
		table_print_objects(q, objects, out);
}
