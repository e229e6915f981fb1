// SPDX-License-Identifier: BSD-3-Clause
#include "command.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

#include "baseline.h"
#include "client.h"
#include "control.h"
#include "field.h"
#include "instances.h"
#include "query.h"

enum exit_code command_list(const struct options *options, char **words)
{
	json_t *found;

	if (words[0] != NULL || options->instance != NULL)
		errx(EXIT_USAGE, "list takes no argument and no -i");
	found = instances_find();
	if (options->json)
		return output_json(found);
	if (json_array_size(found) > 0)
		output_rows(stdout, found);
	else
		instances_none();
	json_decref(found);
	return EXIT_OK;
}

// The members of a port, which may be none.
static json_t *members_get(const char *instance, const char *port)
{
	char filter[CLIENT_FILTER_MAX];
	json_t *members;

	snprintf(filter, sizeof(filter), ",port=%s", port);
	members = query_get(instance, "port_members", filter);
	baseline_subtract(instance, "port_members", members);
	return members;
}

// Counters that the driver of a port's device has by names of its own, unless they are 0.
static json_t *device_counters_get(const char *instance, const char *port)
{
	char filter[CLIENT_FILTER_MAX];
	json_t *counters = json_object(), *items, *item;
	size_t i;

	snprintf(filter, sizeof(filter), ",name=%s", port);
	items = query_get(instance, "device_counters", filter);
	json_array_foreach(items, i, item) if (object_number(item, "value") != 0) json_object_set(
		counters, object_text(item, "counter"), json_object_get(item, "value"));
	json_decref(items);
	return counters;
}

// A table below the port's fields, if there are any rows.
static void table_add(json_t *rows)
{
	if (json_array_size(rows) > 0) {
		putchar('\n');
		output_rows(stdout, rows);
	}
	json_decref(rows);
}

static void members_print(const json_t *members)
{
	json_t *rows = fields_short("port_members", members), *row;
	size_t i;

	json_array_foreach(rows, i, row) json_object_del(row, "port");
	table_add(rows);
}

static void device_counters_print(json_t *counters)
{
	json_t *rows = json_array(), *value;
	const char *name;

	json_object_foreach(counters, name, value) json_array_append_new(
		rows, json_pack("{s:s, s:O}", "device_counter", name, "value", value));
	table_add(rows);
}

enum exit_code command_show(const struct options *options, char **words)
{
	enum exit_code code = EXIT_OK;
	const char *instance;
	struct query q;
	json_t *objects, *counters = NULL, *members = NULL;

	if (words[0] != NULL && strcmp(words[0], "config") == 0)
		return command_show_config(options, words + 1);
	if (options->watch > 0)
		return command_show_watch(options, words);
	query_read_show(&q, options, words);
	instance = instance_choose(options->instance);
	objects = query_get(instance, q.list->word, q.filter);
	baseline_subtract(instance, q.list->word, objects);
	query_choose(&q, objects);
	if (q.name != NULL && strcmp(q.list->word, "ports") == 0) {
		members = members_get(instance, q.name);
		counters = device_counters_get(instance, q.name);
	}
	if (options->json) {
		json_object_set_new(json_array_get(objects, 0), "members",
			members != NULL ? fields_typed("port_members", members) : NULL);
		json_object_set(json_array_get(objects, 0), "device_counters", counters);
		code = output_json(fields_typed(q.list->word, objects));
	} else {
		query_print(&q, objects, stdout);
		members_print(members);
		device_counters_print(counters);
	}
	json_decref(members);
	json_decref(counters);
	json_decref(objects);
	return code;
}

static enum exit_code flushed_print(const struct options *options, const char *done)
{
	if (options->json)
		return output_json(json_pack("[{s:s}]", "result", done));
	puts(done);
	return EXIT_OK;
}

enum exit_code command_flush(const struct options *options, char **words)
{
	char request[CLIENT_FILTER_MAX + 32];
	struct answer answer;
	struct query q;
	enum exit_code code;
	bool flows;

	query_read_flush(&q, words);
	flows = strcmp(q.list->word, "flows") == 0;
	snprintf(request, sizeof(request), "%s %s", flows ? "flush" : "flush-neighbours",
		q.filter + (q.filter[0] == ','));
	control_order(&answer, instance_choose(options->instance), request);
	code = flushed_print(options,
		flows ? "matching flows will be removed within some seconds" : answer.text);
	answer_fini(&answer);
	return code;
}

enum exit_code command_clear(const struct options *options, char **words)
{
	bool undo = words[0] != NULL && strcmp(words[0], "undo") == 0;
	const char *instance;

	if (words[undo] != NULL)
		errx(EXIT_USAGE, "clear: unexpected argument \"%s\"", words[undo]);
	instance = instance_choose(options->instance);
	if (undo)
		baseline_remove(instance);
	else
		baseline_take(instance);
	return EXIT_OK;
}
