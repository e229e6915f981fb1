// SPDX-License-Identifier: BSD-3-Clause
// The live view: rates of ports, workers and security associations, tunnels that are not up, drops.
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "instances.h"
#include "output.h"
#include "picture.h"
#include "screen.h"

static void head_print(FILE *out, const struct picture *p)
{
	const json_t *info = picture_first(p, PICTURE_INFO);
	const json_t *totals = picture_first(p, PICTURE_TOTALS);
	const char *instance = object_text(info, "instance");
	char up[OUTPUT_TIME_MAX];

	output_text(out, instance != NULL ? instance : "");
	fprintf(out, "  up %s  tunnels %lld of %lld up\n",
		output_duration(up, object_number(info, "uptime_s")),
		(long long)object_number(totals, "tunnels_up"),
		(long long)object_number(totals, "tunnels"));
}

static void tables_print(const struct picture *now, json_t *tables)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	const char *key;
	json_t *rows;

	if (out == NULL)
		err(EXIT_FAILED, NULL);
	head_print(out, now);
	json_object_foreach(tables, key, rows)
	{
		if (json_array_size(rows) == 0)
			continue;
		putc('\n', out);
		output_rows(out, rows);
	}
	if (fclose(out) == 0)
		screen_show(text);
	free(text);
}

static void picture_show(void *arg, const struct picture *before, const struct picture *now)
{
	const struct options *options = arg;
	json_t *tables = picture_tables(before, now);

	if (options->json) {
		output_json(tables);
		return;
	}
	tables_print(now, tables);
	json_decref(tables);
}

enum exit_code command_top(const struct options *options, char **words)
{
	bool once = options->once || options->json || !isatty(STDOUT_FILENO);

	(void)words;
	picture_repeat(
		instance_choose(options->instance), once ? 0 : 1, picture_show, (void *)options);
	return EXIT_OK;
}
