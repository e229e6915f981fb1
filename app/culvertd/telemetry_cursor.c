// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_cursor.h"

#include <stdio.h>
#include <string.h>

#include "telemetry_filter.h"

static _Thread_local struct {
	char list[32], filter[FILTER_MAX];
	unsigned int first, n;              // numbers of its items
	uint32_t position[CURSOR_PAGE + 1]; // before each of them, and behind the last
} cursor;

bool cursor_find(uint32_t *position, const char *list, const char *filter, unsigned int offset)
{
	if (offset - cursor.first > cursor.n || strcmp(cursor.list, list) != 0 ||
		strcmp(cursor.filter, filter) != 0)
		return false;
	*position = cursor.position[offset - cursor.first];
	return true;
}

void cursor_begin(const char *list, const char *filter, unsigned int offset, uint32_t position)
{
	snprintf(cursor.list, sizeof(cursor.list), "%s", list);
	snprintf(cursor.filter, sizeof(cursor.filter), "%s", filter);
	cursor.first = offset;
	cursor.n = 0;
	cursor.position[0] = position;
}

void cursor_add(uint32_t position)
{
	cursor.position[++cursor.n] = position;
}
