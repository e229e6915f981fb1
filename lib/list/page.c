// SPDX-License-Identifier: BSD-3-Clause
#include "page.h"

#include <stdio.h>
#include <string.h>

#include "dpdk_compat.h"
#include "filter.h"

#define LINK_LOCAL_LEN 64

void add_string(struct rte_tel_data *item, const char *name, const char *value)
{
	rte_tel_data_add_dict_string(item, name, value);
}

void add_u64(struct rte_tel_data *item, const char *name, uint64_t value)
{
	rte_tel_data_add_dict_uint(item, name, value);
}

void add_addr(struct rte_tel_data *item, const char *name, const struct ip_addr *a)
{
	char text[IP_ADDR_STRLEN];

	add_string(item, name, ip_addr_format(text, a));
}

void page_refuse(const struct page *p, const char *why)
{
	add_string(p->answer, "error", why);
}

struct rte_tel_data *item_new(void)
{
	struct rte_tel_data *item = rte_tel_data_alloc();

	if (item != NULL)
		rte_tel_data_start_dict(item);
	return item;
}

void page_add(const struct page *p, unsigned int number, struct rte_tel_data *item)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	rte_tel_data_add_dict_container(p->answer, name, item, 0);
}

// --- views ---

// States of unused ones are shown. After those of the configuration there are the link-local one
// that the port has by itself, and those of guests, which have no network.
const char *port_address_text(
	char text[PORT_ADDRESS_STRLEN], const struct ports_view *v, unsigned int a)
{
	static const char *const states[] = {[DAD_TENTATIVE] = " (tentative)",
		[DAD_ASSIGNED] = "",
		[DAD_DUPLICATE] = " (duplicate)",
		[DAD_STANDBY] = " (standby)",
		[DAD_EXPECTED] = " (expected)"};
	unsigned int others = v->port->n_addrs - v->conf->guests.n;
	struct ip_prefix p = {.addr = v->port->addrs[a],
		.len = a < v->conf->n_addrs ? v->conf->addrs[a].net.len
		       : a < others         ? LINK_LOCAL_LEN
					    : 128};

	ip_prefix_format(text, &p);
	return strcat(text, states[dad_state(v->dad, v->number, &p.addr)]);
}

static void add_addresses(struct rte_tel_data *item, const char *name, const struct ports_view *v)
{
	struct rte_tel_data *list = rte_tel_data_alloc();
	char text[PORT_ADDRESS_STRLEN];

	if (list == NULL)
		return;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (unsigned int a = 0; a < v->port->n_addrs; a++)
		rte_tel_data_add_array_string(list, port_address_text(text, v, a));
	rte_tel_data_add_dict_container(item, name, list, 0);
}

static void add_drops(
	struct rte_tel_data *item, const char *name, const uint64_t packets[DROP_COUNT])
{
	struct rte_tel_data *drops = item_new();

	if (drops == NULL)
		return;
	for (enum drop r = 1; r < DROP_COUNT; r++)
		if (packets[r] > 0)
			add_u64(drops, drop_info[r].name, packets[r]);
	rte_tel_data_add_dict_container(item, name, drops, 0);
}

static void field_add(struct rte_tel_data *item, const struct view_field *f, const void *view)
{
	const uint64_t *numbers = (const void *)((const char *)view + f->offset);
	char text[VIEW_TEXT_MAX];

	if (f->value == VALUE_U64)
		add_u64(item, f->name, *numbers);
	else if (f->value == VALUE_DROPS)
		add_drops(item, f->name, numbers);
	else if (f->value == VALUE_ADDRESSES)
		add_addresses(item, f->name, view);
	else
		add_string(item, f->name, view_text(text, f, view));
}

bool page_add_view(const struct page *p, unsigned int number, const char *list, const void *view)
{
	struct rte_tel_data *item = item_new();
	unsigned int n;
	const struct view_field *f = view_fields(list, &n);

	if (item == NULL)
		return false;
	for (unsigned int k = 0; k < n; k++)
		if (f[k].name != NULL)
			field_add(item, &f[k], view);
	page_add(p, number, item);
	return true;
}

// --- the last page ---

static _Thread_local struct {
	char list[32], filter[FILTER_MAX];
	unsigned int first, n;             // numbers of its items
	uint32_t position[PAGE_ITEMS + 1]; // before each of them, and after the last
} cursor;

bool cursor_find(uint32_t *position, const struct page *p)
{
	if (p->offset - cursor.first > cursor.n || strcmp(cursor.list, p->list) != 0 ||
		strcmp(cursor.filter, p->filter) != 0)
		return false;
	*position = cursor.position[p->offset - cursor.first];
	return true;
}

void cursor_begin(const struct page *p, uint32_t position)
{
	snprintf(cursor.list, sizeof(cursor.list), "%s", p->list);
	snprintf(cursor.filter, sizeof(cursor.filter), "%s", p->filter);
	cursor.first = p->offset;
	cursor.n = 0;
	cursor.position[0] = position;
}

void cursor_add(uint32_t position)
{
	cursor.position[++cursor.n] = position;
}
