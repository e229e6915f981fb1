// SPDX-License-Identifier: BSD-3-Clause
#include "device_counters.h"

#include "output.h"
#include "query.h"

json_t *device_counters_get(const char *instance, const char *port)
{
	char filter[CLIENT_FILTER_MAX];
	json_t *counters = json_object(), *items, *item;
	size_t i;

	snprintf(filter, sizeof(filter), ",name=%s", port);
	items = query_get(instance, "device_counters", filter);
	json_array_foreach(items, i, item)
	{
		json_t *value = json_object_get(item, "value");

		if (json_integer_value(value) != 0)
			json_object_set(counters,
				json_string_value(json_object_get(item, "counter")), value);
	}
	json_decref(items);
	return counters;
}

void device_counters_print(json_t *counters, FILE *out)
{
	json_t *rows = json_array(), *value;
	const char *name;

	json_object_foreach(counters, name, value) json_array_append_new(
		rows, json_pack("{s:s, s:O}", "device_counter", name, "value", value));
	if (json_array_size(rows) > 0) {
		putc('\n', out);
		output_rows(out, rows);
	}
	json_decref(rows);
}
