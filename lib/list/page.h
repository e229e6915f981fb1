// SPDX-License-Identifier: BSD-3-Clause
// One answer of telemetry: the items of a list from a number on, as far as one answer holds them,
// in the form in which all lists show values. Threads of librte_telemetry.
#pragma once

#include <rte_telemetry.h>

#include "view.h"

// Items in one answer: as many as can fit its 16 KB. Items that do not fit are left out; the client
// requests them again, since items are numbered.
#define PAGE_ITEMS 64

struct page {
	struct rte_tel_data *answer;
	struct control *c;
	const char *list;
	unsigned int offset; // number of the first item
	const char *filter;  // "" for everything
};

// Writes the items. Called with the gateway's lock, unless noted.
typedef void page_fn(const struct page *p);

page_fn flow_page; // takes the lock itself, and not while it looks through the table of flows
page_fn match_page, ping_page, trace_state_page, trace_steps_page;

// Answers with the reason why there are no items.
void page_refuse(const struct page *p, const char *why);

// A new item, or NULL if memory is short. page_add() gives it to the answer, under its number.
struct rte_tel_data *item_new(void);
void page_add(const struct page *p, unsigned int number, struct rte_tel_data *item);

// Adds a view of a list of field.def as item of that number. False: memory is short.
bool page_add_view(const struct page *p, unsigned int number, const char *list, const void *view);

// Address number a of a port, with the length of its network's prefix. Any thread with the lock.
#define PORT_ADDRESS_STRLEN (IP_PREFIX_STRLEN + 16)
const char *port_address_text(
	char text[PORT_ADDRESS_STRLEN], const struct ports_view *v, unsigned int a);

// A field of an item. The name is not copied.
void add_string(struct rte_tel_data *item, const char *name, const char *value);
void add_u64(struct rte_tel_data *item, const char *name, uint64_t value);
void add_addr(struct rte_tel_data *item, const char *name, const struct ip_addr *a);

// Where in its list the items of a client's last page were: a client that asks for page after page
// of a filtered list has every item looked at once. librte_telemetry has a thread for each client,
// so each thread remembers one page.

// The position before the page's first item, if the last page was of the same list and filter and
// ended there or after it; else false.
bool cursor_find(uint32_t *position, const struct page *p);

// Begins a page at its first item, which is at that position.
void cursor_begin(const struct page *p, uint32_t position);

// Notes the position after the next item of the page, of at most PAGE_ITEMS.
void cursor_add(uint32_t position);
