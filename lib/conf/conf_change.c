// SPDX-License-Identifier: BSD-3-Clause
#include "conf_change.h"

#include <stdio.h>

#include "conf_arena.h"

// The list doubles where its length is a power of two.
void conf_changes_add(struct conf_changes *list, struct conf_change c)
{
	if ((list->n & (list->n - 1)) == 0)
		list->change = conf_resize(list->change, (2 * list->n + 1) * sizeof(c));
	list->change[list->n++] = c;
}

void conf_changes_free(struct conf_changes *list)
{
	if (list != NULL)
		conf_arena_free(list->arena);
}

const char *conf_change_word(const struct conf_change *c)
{
	if (c->verb == CONF_SET)
		return c->setting != NULL ? "changed" : "moved";
	return c->verb == CONF_ADD ? "added" : "removed";
}

void conf_change_describe(char *text, size_t size, const struct conf_change *c)
{
	if (c->kind == CONF_KINDS)
		snprintf(text, size, "%s changed", c->setting);
	else if (c->setting != NULL)
		snprintf(text, size, "%s \"%s\": %s changed", conf_kinds[c->kind].noun, c->name,
			c->setting);
	else
		snprintf(text, size, "%s \"%s\" %s", conf_kinds[c->kind].noun, c->name,
			conf_change_word(c));
}
