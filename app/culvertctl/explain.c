// SPDX-License-Identifier: BSD-3-Clause
// What the reasons for dropping packets mean and what to do about them: known without a daemon.
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "drop.h"
#include "nearest.h"

#define LABEL 12 // characters
#define WIDTH 80 // where there is no terminal

static const char *scope_name(const struct drop_info *d)
{
	return d->scope == DROP_SCOPE_SA ? "gateway and SA" : "gateway";
}

// Prints a label and text beside it, in lines of words that fit the width.
static void paragraph_print(const char *label, const char *text, size_t width)
{
	size_t used = LABEL;

	printf("%-*s", LABEL, label);
	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		if (used > LABEL && used + 1 + len > width) {
			printf("\n%*s", LABEL, "");
			used = LABEL;
		}
		used += (size_t)printf("%s%.*s", used > LABEL ? " " : "", (int)len, text);
		text += len + strspn(text + len, " ");
	}
	putchar('\n');
}

static void reason_print(const struct drop_info *d)
{
	size_t width = output_width() != 0 ? output_width() : WIDTH;

	paragraph_print("Reason", d->name, width);
	paragraph_print("Counted on", scope_name(d), width);
	paragraph_print("A packet", d->help, width);
	paragraph_print("What to do", d->advice, width);
}

static json_t *reason_object(const struct drop_info *d)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "reason", d->name, "scope", scope_name(d), "help",
		d->help, "advice", d->advice);
}

static enum exit_code objects_print(const struct drop_info *first, unsigned int n)
{
	json_t *objects = json_array();
	enum exit_code code;

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(objects, reason_object(&first[i]));
	code = output_json(objects);
	json_decref(objects);
	return code;
}

static void all_print(void)
{
	for (enum drop d = 1; d < DROP_COUNT; d++)
		printf("%-20s%s\n", drop_info[d].name, drop_info[d].help);
}

static void reason_unknown(const char *word)
{
	struct nearest nearest = {.text = word};

	for (enum drop d = 1; d < DROP_COUNT; d++)
		nearest_try(&nearest, drop_info[d].name);
	if (nearest.best != NULL)
		errx(EXIT_USAGE, "explain: unknown reason \"%s\", did you mean \"%s\"?", word,
			nearest.best);
	errx(EXIT_USAGE, "explain: unknown reason \"%s\"; \"culvertctl explain\" lists all", word);
}

static enum exit_code all_explain(const struct options *options)
{
	if (options->json)
		return objects_print(&drop_info[1], DROP_COUNT - 1);
	all_print();
	return EXIT_OK;
}

enum exit_code command_explain(const struct options *options, char **words)
{
	enum drop d = 1;

	if (words[0] == NULL)
		return all_explain(options);
	if (words[1] != NULL)
		errx(EXIT_USAGE, "explain: unexpected argument \"%s\"", words[1]);
	while (d < DROP_COUNT && strcmp(drop_info[d].name, words[0]) != 0)
		d++;
	if (d == DROP_COUNT)
		reason_unknown(words[0]);
	if (options->json)
		return objects_print(&drop_info[d], 1);
	reason_print(&drop_info[d]);
	return EXIT_OK;
}
