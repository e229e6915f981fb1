// SPDX-License-Identifier: BSD-3-Clause
#include "rates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "field.h"

#define NAME_MAX_LEN 80

struct sample sample_of(json_t *objects)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct sample){objects, (double)now.tv_sec + (double)now.tv_nsec / 1e9};
}

void sample_fini(struct sample *s)
{
	json_decref(s->objects);
	s->objects = NULL;
}

static json_t *object_with_rates(
	const char *list, const json_t *before, json_t *object, double seconds)
{
	json_t *with = json_object();
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		json_t *old = json_object_get(before, key);
		char name[NAME_MAX_LEN];

		json_object_set(with, key, value);
		if (!field_is_counter(list, key) || !json_is_integer(old) ||
			!json_is_integer(value) || seconds <= 0)
			continue;

		double grown = (double)(json_integer_value(value) - json_integer_value(old));

		snprintf(name, sizeof(name), "%s/s", key);
		json_object_set_new(with, name, json_integer((json_int_t)(grown / seconds + 0.5)));
	}
	return with;
}

json_t *rates_add(const char *list, const struct sample *before, const struct sample *now)
{
	json_t *index = fields_index(list, before->objects);
	json_t *objects = json_array();

	for (size_t i = 0; i < json_array_size(now->objects); i++) {
		json_t *object = json_array_get(now->objects, i);

		json_array_append_new(
			objects, object_with_rates(list, fields_same(index, list, object), object,
					 now->at - before->at));
	}
	json_decref(index);
	return objects;
}

double rates_get(const json_t *object, const char *counter)
{
	char name[NAME_MAX_LEN];

	snprintf(name, sizeof(name), "%s/s", counter);
	return json_number_value(json_object_get(object, name));
}
