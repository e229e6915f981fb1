// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_reload.h"

#include <stdio.h>
#include <string.h>

#include "telemetry_add.h"

#define PIECE 120 // octets, of the 128 that a string of librte_telemetry has

void reload_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	struct rte_tel_data *o = offset == 0 ? item_new() : NULL;

	(void)filter;
	if (o == NULL)
		return;
	add_u64(o, "number", reload_ask(g));
	add_item(d, 0, o);
}

// Piece number i of the lines; NULL behind the last.
static const char *piece_find(const char *lines, unsigned int i, size_t *len)
{
	while (*lines != '\0') {
		size_t line_len = strcspn(lines, "\n");

		*len = RTE_MIN(line_len, (size_t)PIECE);
		if (i-- == 0)
			return lines;
		lines += *len + (lines[*len] == '\n');
	}
	return NULL;
}

bool reload_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	char text[PIECE + 1];
	const char *piece;
	size_t len;

	if (i == 0) {
		add_u64(d, "done", g->reload.done);
		add_u64(d, "generation", g->snapshot->generation);
		add_string(d, "refused", g->reload.refused ? "yes" : "no");
		return true;
	}
	piece = g->reload.errors != NULL ? piece_find(g->reload.errors, i - 1, &len) : NULL;
	if (piece == NULL)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)len, piece);
	add_string(d, "text", text);
	add_string(d, "more", piece[len] != '\n' && piece[len] != '\0' ? "yes" : "no");
	return true;
}
