// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build_parts.h"

struct named {
	const char *name;
	const void *object;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static struct named named(const struct build_kind *kind, const void *objects, unsigned int i)
{
	const char *object = (const char *)objects + i * kind->size;

	return (struct named){object + kind->name, object};
}

static uint16_t *number_of(const struct build_kind *kind, const void *object)
{
	return (uint16_t *)((uintptr_t)object + kind->number);
}

// There are twice as many numbers as objects.
static uint16_t number_unused(const struct build_kind *kind, const bool *used, uint16_t *last)
{
	do
		*last = *last + 1u < kind->numbers ? (uint16_t)(*last + 1) : kind->first;
	while (used[*last]);
	return *last;
}

int build_numbers(const struct build_kind *kind, void *objects, unsigned int n, const void *running,
	unsigned int n_running, uint16_t *last)
{
	struct named *by_name = calloc(n_running + 1, sizeof(*by_name));
	bool *used = calloc(kind->numbers, sizeof(*used));
	int rc = by_name != NULL && used != NULL ? 0 : -ENOMEM;

	for (unsigned int i = 0; rc == 0 && i < n_running; i++) {
		by_name[i] = named(kind, running, i);
		used[*number_of(kind, by_name[i].object)] = true;
	}
	if (rc == 0)
		qsort(by_name, n_running, sizeof(*by_name), compare);
	for (unsigned int i = 0; rc == 0 && i < n; i++) {
		const struct named o = named(kind, objects, i);
		const struct named *same =
			bsearch(&o, by_name, n_running, sizeof(*by_name), compare);

		*number_of(kind, o.object) = same != NULL && kind->equal(o.object, same->object)
						     ? *number_of(kind, same->object)
						     : number_unused(kind, used, last);
	}
	free(by_name);
	free(used);
	return rc;
}
