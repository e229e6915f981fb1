// SPDX-License-Identifier: BSD-3-Clause
#include "mirror_known.h"

#include <search.h>

#include "test.h"

struct known_route {
	struct ip_prefix to;
	const struct mirror_path *path;
};

static int compare(const void *a, const void *b)
{
	const struct known_route *x = a, *y = b;
	int by_addr = memcmp(&x->to.addr, &y->to.addr, sizeof(x->to.addr));

	return by_addr != 0 ? by_addr : x->to.len - y->to.len;
}

static struct known_route *entry_find(const struct mirror_known *known, const struct ip_prefix *to)
{
	const struct known_route key = {.to = *to};
	struct known_route **found = tfind(&key, &known->all, compare);

	return found != NULL ? *found : NULL;
}

void mirror_known_changed(void *known, const struct ip_prefix *to, const struct mirror_path *path)
{
	struct mirror_known *k = known;
	struct known_route *e = entry_find(k, to);

	k->changes++;
	if (e == NULL) {
		assert_non_null(path);
		e = calloc(1, sizeof(*e));
		e->to = *to;
		tsearch(e, &k->all, compare);
		k->n++;
	}
	assert_ptr_not_equal(e->path, path);
	e->path = path;
	if (path != NULL)
		return;
	tdelete(e, &k->all, compare);
	free(e);
	k->n--;
}

const struct mirror_path *mirror_known_path(
	const struct mirror_known *known, const struct ip_prefix *to)
{
	const struct known_route *e = entry_find(known, to);

	return e != NULL ? e->path : NULL;
}

struct check {
	const struct mirror_known *known;
	unsigned int n;
};

static void entry_check(void *arg, const struct ip_prefix *to, const struct mirror_path *path)
{
	struct check *check = arg;

	assert_ptr_equal(mirror_known_path(check->known, to), path);
	check->n++;
}

void mirror_known_check(const struct mirror_known *known, const struct mirror_store *s)
{
	struct check check = {.known = known};

	mirror_store_each(s, entry_check, &check);
	assert_int_equal(check.n, known->n);
}

void mirror_known_free(struct mirror_known *known)
{
	tdestroy(known->all, free);
	*known = (struct mirror_known){0};
}
