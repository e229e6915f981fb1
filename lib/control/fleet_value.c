// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_value.h"

#include <inttypes.h>
#include <string.h>

#include "line.h"

#define FORMAT 1

const char fleet_value_later[] = "it is of another version of Culvert";

// Copies the first line. Returns the text after it; NULL: it has no end, or is too long.
static const char *line_take(char line[LINE_LEN_MAX], const char *text)
{
	size_t len = strcspn(text, "\n");

	if (text[len] != '\n' || len >= LINE_LEN_MAX)
		return NULL;
	memcpy(line, text, len);
	line[len] = '\0';
	return text + len + 1;
}

// The line of a move, if it is one.
static bool move_read(struct fleet_value *v)
{
	char line[LINE_LEN_MAX], word[sizeof("ready")];
	const char *rest = line, *lines = line_take(line, v->lines);
	uint64_t lease;

	if (lines == NULL || !line_word(&rest, word, sizeof(word)) ||
		(strcmp(word, "next") != 0 && strcmp(word, "ready") != 0))
		return true;
	if (!line_word(&rest, v->next, sizeof(v->next)) || !line_number(&rest, &lease, INT64_MAX) ||
		rest != NULL)
		return false;
	v->next_lease = (int64_t)lease;
	v->ready = strcmp(word, "ready") == 0;
	v->lines = lines;
	return true;
}

const char *fleet_value_read(struct fleet_value *v, const char *text)
{
	char line[LINE_LEN_MAX], word[sizeof("culvert")];
	const char *rest = line;
	uint64_t format, lease;

	*v = (struct fleet_value){.owner = "-", .lines = line_take(line, text)};
	if (v->lines == NULL || !line_word(&rest, word, sizeof(word)) ||
		strcmp(word, "culvert") != 0 || !line_number(&rest, &format, UINT32_MAX))
		return "it is no value of Culvert";
	if (!line_number(&rest, &v->turn, INT64_MAX) ||
		!line_word(&rest, v->owner, sizeof(v->owner)) ||
		!line_number(&rest, &lease, INT64_MAX) || rest != NULL)
		return "its first line is damaged";
	v->lease = (int64_t)lease;
	if (format != FORMAT)
		return fleet_value_later;
	return move_read(v) ? NULL : "its second line is damaged";
}

bool fleet_line_read(struct fleet_line *l, const char **rest)
{
	char line[LINE_LEN_MAX], word[sizeof("out")];
	const char *next = line;

	*rest = line_take(line, *rest);
	if (*rest == NULL || !line_word(&next, word, sizeof(word)) ||
		!line_word(&next, l->name, sizeof(l->name)) ||
		!line_number(&next, &l->bound, UINT64_MAX) ||
		!line_number(&next, &l->used, l->bound) || next != NULL)
		return false;
	l->out = strcmp(word, "out") == 0;
	return l->out || strcmp(word, "in") == 0;
}

void fleet_value_write(FILE *out, const struct fleet_value *v)
{
	fprintf(out, "culvert %d %" PRIu64 " %s %" PRId64 "\n", FORMAT, v->turn, v->owner,
		v->lease);
	if (v->next_lease != 0)
		fprintf(out, "%s %s %" PRId64 "\n", v->ready ? "ready" : "next", v->next,
			v->next_lease);
}

void fleet_line_write(FILE *out, const struct fleet_line *l)
{
	fprintf(out, "%s %s %" PRIu64 " %" PRIu64 "\n", l->out ? "out" : "in", l->name, l->bound,
		l->used);
}
