// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

static const char *name_at(const struct conf_names *n, unsigned int i)
{
	return n->first + i * conf_kinds[n->kind].item_size;
}

static int compare_names(const void *a, const void *b, void *names)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;
	int by_name = strcmp(name_at(names, x), name_at(names, y));

	return by_name != 0 ? by_name : (x > y) - (x < y);
}

struct conf_names conf_names_sort(const struct conf_reader *r, enum conf_kind kind)
{
	unsigned int n;
	struct conf_names names = {
		.kind = kind,
		.first = conf_items(r->c, kind, &n), // NULL if there are none
		.set = conf_set_given(r, kind, (const char *[]){"name", NULL}),
	};

	if (n > 0)
		names.first += conf_option_find(conf_kinds[kind].options, "name")->offset;
	names.complete = names.set.n == n && !conf_rejected(r->root, conf_kinds[kind].list);
	qsort_r(names.set.index, names.set.n, sizeof(names.set.index[0]), compare_names, &names);
	return names;
}

struct conf_set conf_check_names(struct conf_reader *r, enum conf_kind kind)
{
	const struct conf_names names = conf_names_sort(r, kind);
	const unsigned int *index = names.set.index;
	unsigned int first = 0;

	for (unsigned int i = 1; i < names.set.n; i++)
		if (strcmp(name_at(&names, index[first]), name_at(&names, index[i])) != 0)
			first = i;
		else
			conf_err(r, conf_member(conf_item(r, kind, index[i]), "name"),
				"is already the name of %s",
				conf_ref(conf_item(r, kind, index[first])));
	return names.set;
}

int conf_names_find(const struct conf_names *n, const char *name)
{
	unsigned int low = 0, high = n->set.n;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (strcmp(name_at(n, n->set.index[middle]), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n->set.n || strcmp(name_at(n, n->set.index[low]), name) != 0)
		return -1;
	return (int)n->set.index[low];
}

// Whether the running configuration has an item of this name, which the new one lacks.
static bool is_removed(const struct conf_reader *r, enum conf_kind kind, const char *name)
{
	unsigned int n = 0;

	if (r->running != NULL)
		conf_items(r->running, kind, &n);
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(conf_identity(kind, conf_tree_item(r->running->tree, kind, i)), name) ==
			0)
			return true;
	return false;
}

void conf_names_reject(struct conf_reader *r, config_setting_t *s,
	const struct conf_names *const lists[], const char *name)
{
	struct nearest near = {.text = name};
	const char *nouns = conf_kinds[lists[0]->kind].noun;
	bool complete = true, removed = false;

	for (unsigned int l = 0; lists[l] != NULL; l++) {
		if (l > 0)
			nouns = conf_format("%s or %s", nouns, conf_kinds[lists[l]->kind].noun);
		complete = complete && lists[l]->complete;
		removed = removed || is_removed(r, lists[l]->kind, name);
		for (unsigned int i = 0; i < lists[l]->set.n; i++)
			nearest_try(&near, name_at(lists[l], lists[l]->set.index[i]));
	}
	if (near.best == NULL && !complete)
		return;
	if (removed)
		conf_err(r, s, "uses %s %s, so it cannot be removed", nouns, conf_quote(name));
	else
		conf_err(r, s, "there is no %s %s, %s", nouns, conf_quote(name),
			conf_hint(&near, "must be the name of one"));
}
