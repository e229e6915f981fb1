// SPDX-License-Identifier: BSD-3-Clause
#include "conf_change.h"

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
