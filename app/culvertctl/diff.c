// SPDX-License-Identifier: BSD-3-Clause
// culvertctl diff: what a reload would change.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "table.h"

// The exit code is that of diff(1).
#define SAME      EXIT_OK
#define DIFFERENT EXIT_FAILED
#define TROUBLE   EXIT_USAGE

// The fields of a line of the answer, see app/culvertd/request.h.
enum { KIND, NOUN, NAME, SETTING, OLD, NEW, KEY, RESTART, FILE_NAME, LINE, FIELDS };

static const char *const names[FIELDS] = {
	"change", "kind", "name", "setting", "old", "new", "key", "restart", "file", "line"};

// Cuts a line into its fields.
static bool fields_read(char *field[FIELDS], char *line)
{
	for (int i = 0; i < FIELDS; i++)
		field[i] = strsep(&line, "\t");
	return field[LINE] != NULL;
}

static void value_print(const char *value)
{
	table_put_text(stdout, value[0] != '\0' ? value : "(not set)");
}

static void values_print(char *const field[FIELDS])
{
	if (field[KEY][0] != '\0')
		return;
	if (field[OLD][0] == '\0' && field[NEW][0] == '\0') {
		fputs(": derived from other settings", stdout);
		return;
	}
	fputs(": ", stdout);
	value_print(field[OLD]);
	fputs(" -> ", stdout);
	value_print(field[NEW]);
}

static void line_print(char *const field[FIELDS])
{
	bool item = field[NOUN][0] != '\0', setting = field[SETTING][0] != '\0';

	printf("%-9s", field[KIND]);
	if (item)
		printf("%s \"%s\"%s", field[NOUN], field[NAME], setting ? ": " : "");
	if (setting)
		table_put_text(stdout, field[SETTING]);
	if (setting)
		values_print(field);
	// What is gone stands nowhere.
	if (strcmp(field[KIND], "removed") != 0) {
		fputs(" (", stdout);
		table_put_text(stdout, field[FILE_NAME]);
		printf(":%s)", field[LINE]);
	}
	puts(field[RESTART][0] != '\0' ? ", needs a restart" : "");
}

static json_t *line_object(char *const field[FIELDS])
{
	json_t *object = json_object();

	for (int i = 0; i < FIELDS; i++) {
		json_t *value = i == KEY || i == RESTART ? json_boolean(field[i][0] != '\0')
				: i == LINE              ? json_integer(atoi(field[i]))
				: field[i][0] == '\0'    ? json_null()
							 : json_string(field[i]);

		json_object_set_new(object, names[i], value);
	}
	return object;
}

static enum exit_code differences_print(const struct options *options, char *text)
{
	json_t *objects = json_array();
	unsigned int n_restart = 0;
	char *line, *field[FIELDS];

	while ((line = strsep(&text, "\n")) != NULL && fields_read(field, line)) {
		n_restart += field[RESTART][0] != '\0';
		if (options->json)
			json_array_append_new(objects, line_object(field));
		else
			line_print(field);
	}
	if (options->json)
		output_json(objects);
	else if (n_restart > 0)
		printf("A reload would be refused, as %u of these need a restart.\n", n_restart);
	json_decref(objects);
	return DIFFERENT;
}

static enum exit_code result_print(const struct options *options, const struct answer *answer)
{
	if (strcmp(answer->status, "different") == 0)
		return differences_print(options, answer->text);
	if (strcmp(answer->status, "same") != 0) {
		answer_print(options, answer, "");
		return TROUBLE;
	}
	puts(options->json ? "[]" : "nothing would change");
	return SAME;
}

enum exit_code command_diff(const struct options *options, char **words)
{
	struct answer answer;
	enum exit_code code;

	(void)words;
	control_ask(&answer, options->instance, "diff", TROUBLE);
	code = result_print(options, &answer);
	answer_fini(&answer);
	return code;
}
