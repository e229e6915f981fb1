// SPDX-License-Identifier: BSD-3-Clause
// How two configurations differ: for programs, and as the changes that lead from one to the other.
#include <stdlib.h>
#include <string.h>

#include "conf_diff.h"
#include "conf_print.h"
#include "conf_print_setting.h"
#include "conf_schema.h"

const char *const conf_difference_names[] = {
	[CONF_ADDED] = "added",
	[CONF_REMOVED] = "removed",
	[CONF_CHANGED] = "changed",
	[CONF_MOVED] = "moved",
};

// --- for programs ---

struct json {
	FILE *out;
	const char *separator;
};

static void json_text(FILE *out, const char *name, const char *value)
{
	fprintf(out, "\"%s\": ", name);
	if (value == NULL) {
		fputs("null, ", out);
		return;
	}
	putc('"', out);
	for (; *value != '\0'; value++)
		if (*value == '"' || *value == '\\' || (unsigned char)*value < ' ')
			fprintf(out, "\\u%04x", *value);
		else
			putc(*value, out);
	fputs("\", ", out);
}

static void difference_write(void *arg, const struct conf_difference *d)
{
	struct json *json = arg;

	fprintf(json->out, "%s{", json->separator);
	json_text(json->out, "change", conf_difference_names[d->kind]);
	json_text(json->out, "kind", d->noun);
	json_text(json->out, "name", d->name);
	json_text(json->out, "setting", d->setting);
	json_text(json->out, "old", d->from);
	json_text(json->out, "new", d->to);
	json_text(json->out, "file", d->where.file);
	fprintf(json->out, "\"key\": %s, \"restart\": %s, \"line\": %u}",
		d->secret ? "true" : "false", d->restart ? "true" : "false", d->where.line);
	json->separator = ",\n";
}

int conf_print_diff(const struct conf *from, const struct conf *to, FILE *out)
{
	struct json json = {out, "["};
	int n = conf_diff(from, to, difference_write, &json);

	fputs(n > 0 ? "]\n" : "", out);
	return n;
}

// --- as changes ---

// An item that differs is deleted and added again behind the one before it: changes are applied
// together, so nothing is missing in between.
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
