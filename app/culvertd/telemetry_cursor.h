// SPDX-License-Identifier: BSD-3-Clause
// Where in its list the items of a client's last page were: a client that asks for page after page
// of a filtered list has every item looked at once. librte_telemetry has a thread for each client,
// so each thread has a cursor. Those who write pages.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Items in one answer: as many as can fit its 16 KB. Those that do not fit are left out; the client
// requests them again, since items are numbered.
#define CURSOR_PAGE 64

// The position before item number offset of the list with this filter, if the last page was of the
// same and ended there or after it; else false.
bool cursor_find(uint32_t *position, const char *list, const char *filter, unsigned int offset);

// Begins a page at that item.
void cursor_begin(const char *list, const char *filter, unsigned int offset, uint32_t position);

// Notes the position behind the next item of the page, of at most CURSOR_PAGE.
void cursor_add(uint32_t position);
