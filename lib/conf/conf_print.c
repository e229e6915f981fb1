// SPDX-License-Identifier: BSD-3-Clause
#include "conf_print.h"

#include <string.h>

#include "conf_diff.h"
#include "conf_schema.h"

static void print_item(FILE *out, const config_setting_t *item, const char *key_file);

static void print_text(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void print_value(FILE *out, const config_setting_t *s);

static void print_elements(FILE *out, const config_setting_t *s, const char *brackets)
{
	int n = config_setting_length(s);

	putc(brackets[0], out);
	for (int i = 0; i < n; i++) {
		fputs(i > 0 ? ", " : " ", out);
		print_value(out, config_setting_get_elem(s, (unsigned int)i));
	}
	fprintf(out, " %c", brackets[1]);
}

static void print_value(FILE *out, const config_setting_t *s)
{
	bool hex = config_setting_get_format(s) == CONFIG_FORMAT_HEX;

	switch (config_setting_type(s)) {
	case CONFIG_TYPE_INT:
		fprintf(out, hex ? "0x%x" : "%d", config_setting_get_int(s));
		break;
	case CONFIG_TYPE_INT64:
		fprintf(out, hex ? "0x%llxL" : "%lldL", config_setting_get_int64(s));
		break;
	case CONFIG_TYPE_BOOL:
		fputs(config_setting_get_bool(s) ? "true" : "false", out);
		break;
	case CONFIG_TYPE_STRING:
		print_text(out, config_setting_get_string(s));
		break;
	case CONFIG_TYPE_ARRAY:
		print_elements(out, s, "[]");
		break;
	case CONFIG_TYPE_LIST:
		print_elements(out, s, "()");
		break;
	case CONFIG_TYPE_GROUP:
		print_item(out, s, NULL);
		break;
	default: // no setting is a floating-point number
		break;
	}
}

// A group in braces, on one line. key_file: to write in the place of keys; may be NULL.
static void print_item(FILE *out, const config_setting_t *item, const char *key_file)
{
	bool has_key = false;

	fputs("{ ", out);
	for (int i = 0; i < config_setting_length(item); i++) {
		const config_setting_t *s = config_setting_get_elem(item, (unsigned int)i);

		if (conf_schema_find(&conf_key_schema, s->name) != NULL) {
			has_key = true;
			continue;
		}
		fprintf(out, "%s = ", s->name);
		print_value(out, s);
		fputs("; ", out);
	}
	if (has_key && key_file != NULL) {
		fputs("key_file = ", out);
		print_text(out, key_file);
		fputs("; ", out);
	} else if (has_key) {
		fputs("/* its keys are not shown: write them to a key_file */ ", out);
	}
	putc('}', out);
}

void conf_print_list(FILE *out, const config_setting_t *list, const char *const *key_files)
{
	int n = config_setting_length(list);

	fprintf(out, "%s = (\n", list->name);
	for (int i = 0; i < n; i++) {
		fputs("  ", out);
		print_item(out, config_setting_get_elem(list, (unsigned int)i),
			key_files != NULL ? key_files[i] : NULL);
		fputs(i < n - 1 ? ",\n" : "\n", out);
	}
	fputs(");\n", out);
}

void conf_print(const struct conf *c, FILE *out)
{
	const config_setting_t *root = config_root_setting(&c->tree->file);

	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, (unsigned int)i);

		if (config_setting_type(s) == CONFIG_TYPE_LIST) {
			conf_print_list(
				out, s, strcmp(s->name, "sas") == 0 ? c->tree->key_files : NULL);
			continue;
		}
		fprintf(out, "%s = ", s->name);
		print_value(out, s);
		fputs(";\n", out);
	}
}

const char *const conf_difference_names[] = {
	[CONF_ADDED] = "added",
	[CONF_REMOVED] = "removed",
	[CONF_CHANGED] = "changed",
	[CONF_MOVED] = "moved",
};

// --- differences for programs ---

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
	fprintf(json->out, "\"key\": %s, \"restart\": %s, \"run_time\": %s, \"line\": %u}",
		d->secret ? "true" : "false", d->restart ? "true" : "false",
		d->unsaved ? "true" : "false", d->where.line);
	json->separator = ",\n";
}

int conf_print_diff(const struct conf *from, const struct conf *to, FILE *out)
{
	struct json json = {out, "["};
	int n = conf_diff(from, to, difference_write, &json);

	fputs(n > 0 ? "]\n" : "", out);
	return n;
}

// --- differences as changes ---

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

static void print_changed(
	const struct changes *c, const struct conf_option *o, const enum todo todo[])
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
			print_item(c->out, item,
				strcmp(o->name, "sas") == 0 ? tree->key_files[i] : NULL);
			putc('\n', c->out);
		}
		before = conf_identity(o->schema, item);
	}
}

static void print_changes(void *arg)
{
	struct changes *c = arg;

	c->n_different = conf_differences(c->file, c->running, difference_note, c);
	for (unsigned int i = 0; conf_schema.options[i].name != NULL; i++)
		if (c->todo[i] != NULL)
			print_changed(c, &conf_schema.options[i], c->todo[i]);
}

int conf_print_changes(const struct conf *running, const struct conf *file, FILE *out)
{
	struct changes c = {.file = file, .running = running, .out = out};
	int rc = conf_with_arena(print_changes, &c);

	return rc < 0 ? rc : (int)c.n_different;
}
