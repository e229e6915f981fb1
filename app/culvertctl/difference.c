// SPDX-License-Identifier: BSD-3-Clause
#include "difference.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

static void value_print(const char *value)
{
	output_text(stdout, value != NULL ? value : "(not set)");
}

static void setting_print(const json_t *d)
{
	const char *old = object_text(d, "old"), *new = object_text(d, "new");

	output_text(stdout, object_text(d, "setting"));
	if (json_is_true(json_object_get(d, "key")))
		return;
	if (old == NULL && new == NULL) {
		fputs(": derived from other settings", stdout);
		return;
	}
	fputs(": ", stdout);
	value_print(old);
	fputs(" -> ", stdout);
	value_print(new);
}

void difference_print(const json_t *d, bool has_line)
{
	const char *change = object_text(d, "change"), *kind = object_text(d, "kind");
	bool setting = object_text(d, "setting") != NULL;

	printf("%-9s", change);
	if (kind != NULL)
		printf("%s \"%s\"%s", kind, object_text(d, "name"), setting ? ": " : "");
	if (setting)
		setting_print(d);
	// A removed item has no line any more.
	if (has_line && strcmp(change, "removed") != 0) {
		fputs(" (", stdout);
		output_text(stdout, object_text(d, "file"));
		printf(":%lld)", (long long)object_number(d, "line"));
	}
	puts(json_is_true(json_object_get(d, "restart")) ? ", needs a restart" : "");
}
