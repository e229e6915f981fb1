// SPDX-License-Identifier: BSD-3-Clause
#include "picture.h"

#include <math.h>
#include <stdlib.h>

#include "field.h"
#include "output.h"
#include "query.h"
#include "screen.h"

#define FIRST      10 // rows of SAs and tunnels
#define PICTURE_MS 1000

static const char *const words[PICTURE_LISTS] = {
	"info", "totals", "ports", "workers", "tunnels", "sas", "drops"};
// The lists that are requested: a few more SAs than are shown, which have a rate already when they
// become the busiest.
static const char *const requested[PICTURE_LISTS] = {
	"info", "totals", "ports", "workers", "tunnels_worst", "sas_busiest", "drops"};

const json_t *picture_first(const struct picture *p, enum picture_list list)
{
	return json_array_get(p->sample[list].objects, 0);
}

static void picture_fini(struct picture *p)
{
	for (enum picture_list l = 0; l < PICTURE_LISTS; l++)
		sample_fini(&p->sample[l]);
}

static struct picture picture_take(const char *instance)
{
	struct picture p = {};

	for (enum picture_list l = 0; l < PICTURE_LISTS; l++) {
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

static json_t *tunnel_row(const json_t *o)
{
	return json_pack("{s:O, s:O, s:O, s:O, s:O, s:O}", "tunnel", json_object_get(o, "tunnel"),
		"state", json_object_get(o, "state"), "reason", json_object_get(o, "reason"),
		"peer", json_object_get(o, "peer"), "last_received_s",
		json_object_get(o, "last_received_s"), "silent_s", json_object_get(o, "silent_s"));
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

// The same objects, the busiest first.
static json_t *sorted(json_t *objects)
{
	size_t n = json_array_size(objects);
	json_t **all = calloc(n + 1, sizeof(*all));
	json_t *array = json_array();

	for (size_t i = 0; i < n && all != NULL; i++)
		all[i] = json_array_get(objects, i);
	if (all != NULL)
		qsort(all, n, sizeof(*all), by_bytes);
	for (size_t i = 0; i < n && all != NULL; i++)
		json_array_append(array, all[i]);
	free(all);
	json_decref(objects);
	return array;
}

static json_t *first(json_t *objects)
{
	while (json_array_size(objects) > FIRST)
		json_array_remove(objects, FIRST);
	return objects;
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

static json_t *list_rates(
	enum picture_list list, const struct picture *before, const struct picture *now)
{
	return rates_add(words[list], &before->sample[list], &now->sample[list]);
}

json_t *picture_tables(const struct picture *before, const struct picture *now)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "ports",
		rows_of(list_rates(PICTURE_PORTS, before, now), port_row), "workers",
		rows_of(list_rates(PICTURE_WORKERS, before, now), worker_row), "tunnels",
		rows_of(first(list_rates(PICTURE_TUNNELS, before, now)), tunnel_row), "sas",
		rows_of(first(sorted(list_rates(PICTURE_SAS, before, now))), sa_row), "drops",
		rows_of(list_rates(PICTURE_DROPS, before, now), drop_row));
}

struct drawing {
	picture_fn *show;
	void *arg;
	struct picture before, now;
};

static void draw(void *arg)
{
	const struct drawing *d = arg;

	if (d->before.sample[0].objects != NULL) // else it is the first one
		d->show(d->arg, &d->before, &d->now);
}

void picture_repeat(const char *instance, unsigned int seconds, picture_fn *show, void *arg)
{
	struct drawing d = {.show = show, .arg = arg};
	unsigned int ms = PICTURE_MS;

	screen_begin();
	d.now = picture_take(instance);
	while (screen_wait(ms, draw, &d)) {
		picture_fini(&d.before);
		d.before = d.now;
		d.now = picture_take(instance);
		draw(&d);
		if (seconds == 0)
			break;
		ms = seconds * 1000;
	}
	picture_fini(&d.before);
	picture_fini(&d.now);
}
