// SPDX-License-Identifier: BSD-3-Clause
#include "conf_print.h"

#include <string.h>

#include "conf_print_setting.h"
#include "conf_schema.h"

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
		print_text(out, config_setting_get_string(s));
		break;
	case CONFIG_TYPE_ARRAY:
		print_elements(out, s, "[]");
		break;
	case CONFIG_TYPE_LIST:
		print_elements(out, s, "()");
		break;
	case CONFIG_TYPE_GROUP:
		conf_print_item(out, s, NULL);
		break;
	default: // no setting is a floating-point number
		break;
	}
}

void conf_print_item(FILE *out, const config_setting_t *item, const char *key_file)
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
		conf_print_value(out, s);
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
		conf_print_item(out, config_setting_get_elem(list, (unsigned int)i),
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
		conf_print_value(out, s);
		fputs(";\n", out);
	}
}
