// SPDX-License-Identifier: BSD-3-Clause
// The fields of the daemon's lists, from lib/stats/field.def. An unknown field, of a newer daemon,
// is shown unchanged. One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

// The objects of a list by their identity: a new reference; and the one of an index that has the
// identity of an object, or NULL.
json_t *fields_index(const char *list, const json_t *objects);
json_t *fields_same(const json_t *index, const char *list, json_t *object);

// Whether objects of the list have counters.
bool fields_count(const char *list);

// Whether it only grows.
bool field_is_counter(const char *list, const char *name);

// Whether it has a column in the usual table. A rate, NAME/s, has one if NAME has.
bool field_is_short(const char *list, const char *name);

// The field that is the name of an object of the list, or NULL if its objects have none.
const char *field_key(const char *list);

// The i-th field by whose value objects of the list can be chosen, every one but counters; NULL:
// there are no more.
const char *field_filter(const char *list, unsigned int i);

// The fields of this name, of all lists, that are metrics and so have a meaning in words: objects
// of field, list and help, a new reference.
json_t *fields_explain(const char *name);

// The objects of a list with numbers, booleans, arrays and null instead of text that stands for
// them: a new reference.
json_t *fields_typed(const char *list, const json_t *objects);

// Puts null where the number 0 stands for no value, as in a table a dash.
void fields_absent(const char *list, json_t *objects);

// Both make rows of a table: new references, or NULL if memory is short. The objects with the
// fields of the usual table alone; the fields of one object, each with its value.
json_t *fields_short(const char *list, const json_t *objects);
json_t *fields_below_each_other(json_t *object);
