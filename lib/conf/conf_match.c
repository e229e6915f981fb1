// SPDX-License-Identifier: BSD-3-Clause
#include "conf_match.h"

#include <stdlib.h>
#include <string.h>

#include "conf_schema.h"

struct conf_side conf_side_of(const struct conf *c, enum conf_kind kind)
{
	struct conf_side s = {.kind = kind, .tree = c->tree};

	s.items = conf_items(c, kind, &s.n);
	s.named = conf_alloc(s.n + 1, sizeof(s.named[0]));
	for (unsigned int i = 0; i < s.n; i++)
		s.named[i] = (struct conf_named){
			conf_identity(kind, conf_tree_item(c->tree, kind, i)), i};
	return s;
}

static int compare_named(const void *a, const void *b)
{
	return strcmp(((const struct conf_named *)a)->name, ((const struct conf_named *)b)->name);
}

int *conf_items_match(const struct conf_side *from, const struct conf_side *to, bool *was_found)
{
	struct conf_named *sorted = conf_alloc(from->n + 1, sizeof(sorted[0]));
	int *index = conf_alloc(to->n + 1, sizeof(index[0]));

	memcpy(sorted, from->named, from->n * sizeof(sorted[0]));
	qsort(sorted, from->n, sizeof(sorted[0]), compare_named);
	for (unsigned int i = 0; i < to->n; i++) {
		const struct conf_named *found =
			bsearch(&to->named[i], sorted, from->n, sizeof(sorted[0]), compare_named);

		index[i] = found != NULL ? (int)found->index : -1;
		if (found != NULL)
			was_found[found->index] = true;
	}
	return index;
}

bool *conf_items_in_order(const int *index, unsigned int n)
{
	unsigned int *last = conf_alloc(n + 1, sizeof(last[0])); // by length, of the best so far
	int *before = conf_alloc(n + 1, sizeof(before[0]));
	bool *stays = conf_alloc(n + 1, sizeof(stays[0]));
	unsigned int longest = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int low = 0, high = longest;

		if (index[i] < 0)
			continue;
		while (low < high) {
			unsigned int middle = (low + high) / 2;

			if (index[last[middle]] < index[i])
				low = middle + 1;
			else
				high = middle;
		}
		before[i] = low > 0 ? (int)last[low - 1] : -1;
		last[low] = i;
		longest = RTE_MAX(longest, low + 1);
	}
	for (int i = longest > 0 ? (int)last[longest - 1] : -1; i >= 0; i = before[i])
		stays[i] = true;
	return stays;
}
