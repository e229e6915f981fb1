// SPDX-License-Identifier: BSD-3-Clause
// The changes that lead from one configuration to another. An item that differs is deleted and
// added again behind the one before it: changes are applied together, so nothing is missing in
// between.
#include <stdlib.h>
#include <string.h>

#include "conf_diff.h"
#include "conf_print.h"
#include "conf_print_setting.h"
#include "conf_schema.h"

struct changed {
	const char *noun, *name;
	bool is_new; // only to be added
};

struct changes {
	const struct conf *file, *running;
	FILE *out;
	struct changed *items;
	size_t n, room;
	unsigned int n_different;
};

static int compare_changed(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;
	int by_noun = strcmp(x->noun, y->noun);

	return by_noun != 0 ? by_noun : strcmp(x->name, y->name);
}

static void changed_add(struct changes *c, const struct conf_difference *d)
{
	if (c->n == c->room) {
		c->room = c->room * 2 + 16;
		c->items = conf_resize(c->items, c->room * sizeof(c->items[0]));
	}
	c->items[c->n++] =
		(struct changed){conf_strdup(d->noun), conf_strdup(d->name), d->kind == CONF_ADDED};
}

// Items of the lists that changes are about; the rest is a comment.
static void difference_note(void *arg, const struct conf_difference *d)
{
	struct changes *c = arg;

	if (d->noun == NULL || d->restart) {
		fprintf(c->out, "# %s%s%s: edit the file by hand\n", d->noun != NULL ? d->noun : "",
			d->noun != NULL ? conf_format(" \"%s\" ", d->name) : "",
			d->setting != NULL ? d->setting : "");
		return;
	}
	if (d->kind == CONF_REMOVED)
		fprintf(c->out, "%s del %s\n", d->noun, d->name);
	else
		changed_add(c, d);
}

static void changed_sort(struct changes *c)
{
	size_t n = 0;

	qsort(c->items, c->n, sizeof(c->items[0]), compare_changed);
	for (size_t i = 0; i < c->n; i++)
		if (n == 0 || compare_changed(&c->items[n - 1], &c->items[i]) != 0)
			c->items[n++] = c->items[i];
	c->n = n;
	for (size_t i = 0; i < n; i++)
		if (!c->items[i].is_new)
			fprintf(c->out, "%s del %s\n", c->items[i].noun, c->items[i].name);
}

static void print_list(
	struct changes *c, const struct conf_option *o, const struct conf_tree *running)
{
	const config_setting_t *list = conf_member(config_root_setting(&running->file), o->name);
	struct changed wanted = {.noun = o->schema->noun};
	const char *before = NULL;

	for (int i = 0; list != NULL && c->n > 0 && i < config_setting_length(list); i++) {
		const config_setting_t *item = config_setting_get_elem(list, (unsigned int)i);

		wanted.name = conf_identity(o->schema, item);
		if (bsearch(&wanted, c->items, c->n, sizeof(c->items[0]), compare_changed) !=
			NULL) {
			fprintf(c->out, "%s add ", wanted.noun);
			if (o->schema->ordered && before == NULL)
				fputs("first ", c->out);
			else if (o->schema->ordered)
				fprintf(c->out, "after %s ", before);
			conf_print_item(c->out, item,
				strcmp(o->name, "sas") == 0 ? running->key_files[i] : NULL);
			putc('\n', c->out);
		}
		before = wanted.name;
	}
}

static void print_all(void *arg)
{
	struct changes *c = arg;

	c->n_different = conf_differences(c->file, c->running, difference_note, c);
	if (c->n > 0)
		changed_sort(c);
	for (const struct conf_option *o = conf_schema.options; o->name != NULL; o++)
		if (o->shape == CONF_LIST)
			print_list(c, o, c->running->tree);
}

int conf_print_changes(const struct conf *file, const struct conf *running, FILE *out)
{
	struct changes c = {.file = file, .running = running, .out = out};
	int rc = conf_with_arena(print_all, &c);

	return rc < 0 ? rc : (int)c.n_different;
}
