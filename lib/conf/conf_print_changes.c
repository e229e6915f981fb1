// SPDX-License-Identifier: BSD-3-Clause
// How two configurations differ: for programs, and as the changes that lead from one to the other.
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
enum todo { KEEP, ADD };

#define OPTIONS_MAX 64 // at the top of a file

struct changes {
	const struct conf *file, *running;
	FILE *out;
	enum todo *todo[OPTIONS_MAX]; // for the items of what runs, by list; NULL: nothing
	unsigned int n_different;
};

static unsigned int list_find(const char *noun)
{
	unsigned int i = 0;

	while (conf_schema.options[i].schema == NULL || conf_schema.options[i].schema->noun != noun)
		i++;
	return i;
}

// Items of the lists that changes are about; the rest is a comment.
static void difference_note(void *arg, const struct conf_difference *d)
{
	struct changes *c = arg;
	enum todo **todo;

	if (d->noun == NULL || d->restart) {
		fprintf(c->out, "# %s%s%s: edit the file by hand\n", d->noun != NULL ? d->noun : "",
			d->noun != NULL ? conf_format(" \"%s\" ", d->name) : "",
			d->setting != NULL ? d->setting : "");
		return;
	}
	if (d->kind == CONF_REMOVED) {
		fprintf(c->out, "%s del %s\n", d->noun, d->name);
		return;
	}
	todo = &c->todo[list_find(d->noun)];
	if (*todo == NULL)
		*todo = conf_alloc(d->n_items, sizeof(**todo));
	if (d->kind != CONF_ADDED && (*todo)[d->item] == KEEP)
		fprintf(c->out, "%s del %s\n", d->noun, d->name);
	(*todo)[d->item] = ADD;
}

static void print_list(const struct changes *c, const struct conf_option *o, const enum todo todo[])
{
	const struct conf_tree *tree = c->running->tree;
	const config_setting_t *list = conf_member(config_root_setting(&tree->file), o->name);
	const char *before = NULL;

	for (int i = 0; i < config_setting_length(list); i++) {
		const config_setting_t *item = config_setting_get_elem(list, (unsigned int)i);

		if (todo[i] == ADD) {
			fprintf(c->out, "%s add ", o->schema->noun);
			if (o->schema->ordered && before == NULL)
				fputs("first ", c->out);
			else if (o->schema->ordered)
				fprintf(c->out, "after %s ", before);
			conf_print_item(c->out, item,
				strcmp(o->name, "sas") == 0 ? tree->key_files[i] : NULL);
			putc('\n', c->out);
		}
		before = conf_identity(o->schema, item);
	}
}

static void print_all(void *arg)
{
	struct changes *c = arg;

	c->n_different = conf_differences(c->file, c->running, difference_note, c);
	for (unsigned int i = 0; conf_schema.options[i].name != NULL; i++)
		if (c->todo[i] != NULL)
			print_list(c, &conf_schema.options[i], c->todo[i]);
}

int conf_print_changes(const struct conf *file, const struct conf *running, FILE *out)
{
	struct changes c = {.file = file, .running = running, .out = out};
	int rc = conf_with_arena(print_all, &c);

	return rc < 0 ? rc : (int)c.n_different;
}
