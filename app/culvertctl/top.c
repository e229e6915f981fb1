// SPDX-License-Identifier: BSD-3-Clause
// The live view: rates of ports, workers and security associations, and drops.
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "field.h"
#include "instances.h"
#include "output.h"
#include "query.h"
#include "rates.h"
#include "screen.h"

#define PERIOD_MS 1000
#define SAS       10 // shown

enum list { INFO, PORTS, WORKERS, SAS_LIST, DROPS, LISTS };

static const char *const words[LISTS] = {"info", "ports", "workers", "sas", "drops"};
// The lists that are requested: of ten thousand SAs only the busiest, and some more, which have a
// rate already when they become the busiest.
static const char *const requested[LISTS] = {"info", "ports", "workers", "sas_busiest", "drops"};

struct picture {
	struct sample sample[LISTS];
};

static void picture_fini(struct picture *p)
{
	for (enum list l = 0; l < LISTS; l++)
		sample_fini(&p->sample[l]);
}

static struct picture picture_take(const char *instance)
{
	struct picture p = {};

	for (enum list l = 0; l < LISTS; l++) {
		json_t *objects = query_get(instance, requested[l], "");

		p.sample[l] = sample_of(fields_typed(words[l], objects));
		json_decref(objects);
	}
	return p;
}

// To one decimal.
static json_t *tenths(double x)
{
	return json_real(round(x * 10) / 10);
}

static json_t *mbit(double bytes_per_second)
{
	return tenths(bytes_per_second * 8 / 1e6);
}

static json_t *whole(double x)
{
	return json_integer((json_int_t)x);
}

static json_t *port_row(const json_t *o)
{
	return json_pack("{s:O, s:O, s:o, s:o, s:o, s:o, s:o, s:o}", "port",
		json_object_get(o, "name"), "link", json_object_get(o, "link"), "rx/s",
		whole(rates_get(o, "rx_packets")), "rx_mbit/s", mbit(rates_get(o, "rx_bytes")),
		"tx/s", whole(rates_get(o, "tx_packets")), "tx_mbit/s",
		mbit(rates_get(o, "tx_bytes")), "missed/s",
		whole(rates_get(o, "rx_missed") + rates_get(o, "rx_no_buffer")), "errors/s",
		whole(rates_get(o, "rx_errors") + rates_get(o, "tx_errors")));
}

static json_t *worker_row(const json_t *o)
{
	double busy = rates_get(o, "busy_ms"), idle = rates_get(o, "idle_ms");

	return json_pack("{s:O, s:O, s:O, s:o, s:o, s:o, s:o, s:O}", "worker",
		json_object_get(o, "worker"), "cpu", json_object_get(o, "cpu"), "state",
		json_object_get(o, "state"), "busy_%",
		tenths(busy + idle > 0 ? 100 * busy / (busy + idle) : 0), "rx/s",
		whole(rates_get(o, "rx")), "tx/s", whole(rates_get(o, "tx")), "drops/s",
		whole(rates_get(o, "drops")), "held", json_object_get(o, "held"));
}

static json_t *sa_row(const json_t *o)
{
	return json_pack("{s:O, s:O, s:O, s:o, s:o, s:o, s:O}", "sa", json_object_get(o, "name"),
		"direction", json_object_get(o, "direction"), "remote",
		json_object_get(o, "remote"), "packets/s", whole(rates_get(o, "packets")), "mbit/s",
		mbit(rates_get(o, "bytes")), "errors/s", whole(rates_get(o, "errors")),
		"last_seen_s", json_object_get(o, "last_seen_s"));
}

static json_t *drop_row(const json_t *o)
{
	if (object_number(o, "packets") == 0)
		return NULL;
	return json_pack("{s:O, s:o, s:O, s:O}", "drop", json_object_get(o, "reason"), "packets/s",
		whole(rates_get(o, "packets")), "packets", json_object_get(o, "packets"), "help",
		json_object_get(o, "help"));
}

static int by_bytes(const void *a, const void *b)
{
	double x = rates_get(*(json_t *const *)a, "bytes");
	double y = rates_get(*(json_t *const *)b, "bytes");

	return (x < y) - (x > y);
}

// The busiest objects first, at most n of them.
static json_t *busiest(json_t *objects, size_t n)
{
	size_t all = json_array_size(objects);
	json_t **sorted = calloc(all + 1, sizeof(*sorted));
	json_t *first = json_array();

	for (size_t i = 0; i < all && sorted != NULL; i++)
		sorted[i] = json_array_get(objects, i);
	if (sorted != NULL)
		qsort(sorted, all, sizeof(*sorted), by_bytes);
	for (size_t i = 0; i < all && i < n && sorted != NULL; i++)
		json_array_append(first, sorted[i]);
	free(sorted);
	json_decref(objects);
	return first;
}

static json_t *rows_of(json_t *objects, json_t *(*row)(const json_t *object))
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(objects); i++) {
		json_t *r = row(json_array_get(objects, i));

		if (r != NULL)
			json_array_append_new(rows, r);
	}
	json_decref(objects);
	return rows;
}

static json_t *list_rates(enum list list, const struct picture *before, const struct picture *now)
{
	return rates_add(words[list], &before->sample[list], &now->sample[list]);
}

// The tables, in order.
static json_t *tables_of(const struct picture *before, const struct picture *now)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "ports",
		rows_of(list_rates(PORTS, before, now), port_row), "workers",
		rows_of(list_rates(WORKERS, before, now), worker_row), "sas",
		rows_of(busiest(list_rates(SAS_LIST, before, now), SAS), sa_row), "drops",
		rows_of(list_rates(DROPS, before, now), drop_row));
}

static void head_print(FILE *out, const struct picture *p)
{
	const json_t *info = json_array_get(p->sample[INFO].objects, 0);
	long up = (long)object_number(info, "uptime_s");
	const char *instance = object_text(info, "instance");

	output_text(out, instance != NULL ? instance : "");
	fprintf(out, "  up %ld d %02ld:%02ld:%02ld\n", up / 86400, up / 3600 % 24, up / 60 % 60,
		up % 60);
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

static void picture_show(
	const struct options *options, const struct picture *before, const struct picture *now)
{
	json_t *tables = tables_of(before, now);

	if (options->json) {
		output_json(tables);
		return;
	}
	tables_print(now, tables);
	json_decref(tables);
}

enum exit_code command_top(const struct options *options, char **further)
{
	bool once = options->once || options->json || !screen_is_terminal();
	const char *instance = instance_choose(options->instance);
	struct picture before, now;

	(void)further;
	screen_begin();
	before = picture_take(instance);
	while (screen_wait(PERIOD_MS)) {
		now = picture_take(instance);
		picture_show(options, &before, &now);
		picture_fini(&before);
		before = now;
		if (once)
			break;
	}
	picture_fini(&before);
	return EXIT_OK;
}
