// SPDX-License-Identifier: BSD-3-Clause
#include "conf_print.h"

#include <string.h>

#include "conf_change.h"
#include "conf_revision.h"
#include "conf_schema.h"

// Writes the keys of an item, which were read from that file (NULL: from none), or the text for
// their place.
typedef void keys_print(FILE *out, const config_setting_t *item, const char *key_file);

static keys_print keys_hide;
static void print_item(
	FILE *out, const config_setting_t *item, const char *key_file, keys_print *keys);

void conf_print_text(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void print_elements(FILE *out, const config_setting_t *s, const char *brackets)
{
	int n = config_setting_length(s);

	putc(brackets[0], out);
	for (int i = 0; i < n; i++) {
		fputs(i > 0 ? ", " : " ", out);
		conf_print_value(out, config_setting_get_elem(s, (unsigned int)i));
	}
	fprintf(out, " %c", brackets[1]);
}

void conf_print_value(FILE *out, const config_setting_t *s)
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
		conf_print_text(out, config_setting_get_string(s));
		break;
	case CONFIG_TYPE_ARRAY:
		print_elements(out, s, "[]");
		break;
	case CONFIG_TYPE_LIST:
		print_elements(out, s, "()");
		break;
	case CONFIG_TYPE_GROUP:
		print_item(out, s, NULL, keys_hide);
		break;
	default: // no setting is a floating-point number
		break;
	}
}

static void print_setting(FILE *out, const config_setting_t *s)
{
	fprintf(out, "%s = ", s->name);
	conf_print_value(out, s);
	fputs("; ", out);
}

static bool is_key(const config_setting_t *s)
{
	return conf_option_find(conf_key_file_options, s->name) != NULL;
}

static void keys_write(FILE *out, const config_setting_t *item, const char *key_file)
{
	(void)key_file; // another machine may not have it, and it may change
	for (int i = 0; i < config_setting_length(item); i++) {
		const config_setting_t *s = config_setting_get_elem(item, (unsigned int)i);

		if (is_key(s))
			print_setting(out, s);
	}
}

static void keys_hide(FILE *out, const config_setting_t *item, const char *key_file)
{
	bool has_key = false;

	for (int i = 0; i < config_setting_length(item); i++)
		has_key |= is_key(config_setting_get_elem(item, (unsigned int)i));
	if (has_key && key_file != NULL) {
		fputs("key_file = ", out);
		conf_print_text(out, key_file);
		fputs("; ", out);
	} else if (has_key) {
		fputs("/* its keys are not shown: write them to a key_file */ ", out);
	}
}

// A group in braces, on one line.
static void print_item(
	FILE *out, const config_setting_t *item, const char *key_file, keys_print *keys)
{
	fputs("{ ", out);
	for (int i = 0; i < config_setting_length(item); i++) {
		const config_setting_t *s = config_setting_get_elem(item, (unsigned int)i);

		if (!is_key(s))
			print_setting(out, s);
	}
	keys(out, item, key_file);
	putc('}', out);
}

void conf_print_shared(FILE *out, const config_setting_t *item)
{
	for (int i = 0; i < config_setting_length(item); i++) {
		const config_setting_t *s = config_setting_get_elem(item, (unsigned int)i);

		if (!is_key(s) && strcmp(s->name, "role") != 0)
			print_setting(out, s);
	}
}

static void print_list(
	FILE *out, const config_setting_t *list, const char *const *key_files, keys_print *keys)
{
	int n = config_setting_length(list);

	fprintf(out, "%s = (\n", list->name);
	for (int i = 0; i < n; i++) {
		fputs("  ", out);
		print_item(out, config_setting_get_elem(list, (unsigned int)i),
			key_files != NULL ? key_files[i] : NULL, keys);
		fputs(i < n - 1 ? ",\n" : "\n", out);
	}
	fputs(");\n", out);
}

void conf_print_list(FILE *out, const config_setting_t *list, const char *const *key_files)
{
	print_list(out, list, key_files, keys_hide);
}

// A list may have values instead, as an array has.
static bool has_items(const config_setting_t *s)
{
	return config_setting_type(s) == CONFIG_TYPE_LIST && config_setting_length(s) > 0 &&
	       config_setting_is_group(config_setting_get_elem(s, 0));
}

static void print_all(const struct conf *c, FILE *out, keys_print *keys)
{
	const config_setting_t *root = config_root_setting(&c->tree->file);

	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *s = config_setting_get_elem(root, (unsigned int)i);

		if (has_items(s)) {
			print_list(out, s,
				strcmp(s->name, conf_kinds[CONF_SA].list) == 0 ? c->tree->key_files
									       : NULL,
				keys);
			continue;
		}
		fprintf(out, "%s = ", s->name);
		conf_print_value(out, s);
		fputs(";\n", out);
	}
}

void conf_print(const struct conf *c, FILE *out)
{
	print_all(c, out, keys_hide);
}

void conf_revision_write(const struct conf *c, FILE *out)
{
	print_all(c, out, keys_write);
	fputs(CONF_KEY_FILES " = [", out);
	for (unsigned int i = 0; i < c->n_sas; i++) {
		const char *name = c->tree->key_files[i];

		fputs(i > 0 ? ", " : "", out);
		conf_print_text(out, name != NULL ? name : "");
	}
	fputs("];\n", out);
}

// --- differences for programs ---

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

static void difference_print(FILE *out, const struct conf_change *c)
{
	putc('{', out);
	json_text(out, "change", conf_change_word(c));
	json_text(out, "kind", c->kind != CONF_KINDS ? conf_kinds[c->kind].noun : NULL);
	json_text(out, "name", c->name);
	json_text(out, "setting", c->setting);
	json_text(out, "old", c->from);
	json_text(out, "new", c->to);
	json_text(out, "file", c->where.file);
	fprintf(out, "\"key\": %s, \"restart\": %s, \"run_time\": %s, \"line\": %u}",
		c->secret ? "true" : "false", c->restart ? "true" : "false",
		c->unsaved ? "true" : "false", c->where.line);
}

void conf_print_diff(const struct conf_changes *list, FILE *out)
{
	for (unsigned int i = 0; i < list->n; i++) {
		fputs(i > 0 ? ",\n" : "[", out);
		difference_print(out, &list->change[i]);
	}
	fputs(list->n > 0 ? "]\n" : "", out);
}

// --- differences as a record ---

// Differences that a record cannot make are comments.
static void print_comment(FILE *out, const struct conf_change *c)
{
	const char *setting = c->setting != NULL ? c->setting : "";

	if (c->kind == CONF_KINDS)
		fprintf(out, "# %s: edit the file by hand\n", setting);
	else
		fprintf(out, "# %s \"%s\"%s%s: edit the file by hand\n", conf_kinds[c->kind].noun,
			c->name, c->setting != NULL ? " " : "", setting);
}

static void print_add(FILE *out, const struct conf_change *c, keys_print *keys)
{
	fprintf(out, "%s add ", conf_kinds[c->kind].noun);
	if (conf_kinds[c->kind].ordered && c->beside == NULL)
		fputs("first ", out);
	else if (c->beside != NULL)
		fprintf(out, "after %s ", c->beside);
	print_item(out, c->settings, c->key_file, keys);
	putc('\n', out);
}

// Whether a record can do this.
static bool is_for_record(const struct conf_change *c)
{
	return c->kind != CONF_KINDS && !conf_kind_needs_restart(c->kind);
}

// Whether the difference before was one of the same item.
static bool is_again(const struct conf_changes *list, const struct conf_change *c)
{
	return c > list->change && c->verb == CONF_SET && c[-1].verb == CONF_SET &&
	       c->kind == c[-1].kind && c->item == c[-1].item;
}

// An item that differs is deleted and added again after the one before it: changes are applied
// together, so nothing is missing in between.
static void print_record(const struct conf_changes *list, FILE *out, keys_print *keys)
{
	const struct conf_change *end = list->change + list->n;

	for (const struct conf_change *c = list->change; c < end; c++)
		if (!is_for_record(c))
			print_comment(out, c);
		else if (c->verb != CONF_ADD && !is_again(list, c))
			fprintf(out, "%s del %s\n", conf_kinds[c->kind].noun, c->name);
	for (const struct conf_change *c = list->change; c < end; c++)
		if (is_for_record(c) && c->verb != CONF_DEL && !is_again(list, c))
			print_add(out, c, keys);
}

void conf_changes_write(const struct conf_changes *list, FILE *out)
{
	print_record(list, out, keys_write);
}

void conf_print_changes(const struct conf_changes *list, FILE *out)
{
	print_record(list, out, keys_hide);
}
