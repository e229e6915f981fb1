// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_add.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_compat.h"
#include "proto_model.h"
#include "view.h"

struct rte_tel_data *item_new(void)
{
	struct rte_tel_data *item = rte_tel_data_alloc();

	if (item != NULL)
		rte_tel_data_start_dict(item);
	return item;
}

void add_item(struct rte_tel_data *d, unsigned int number, struct rte_tel_data *item)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	rte_tel_data_add_dict_container(d, name, item, 0);
}

void add_string(struct rte_tel_data *d, const char *name, const char *value)
{
	rte_tel_data_add_dict_string(d, name, value);
}

void add_u64(struct rte_tel_data *d, const char *name, uint64_t value)
{
	rte_tel_data_add_dict_uint(d, name, value);
}

void add_maybe(struct rte_tel_data *d, const char *name, bool there, uint64_t value)
{
	char text[32] = "-";

	if (there)
		snprintf(text, sizeof(text), "%" PRIu64, value);
	add_string(d, name, text);
}

void add_addr(struct rte_tel_data *d, const char *name, const struct ip_addr *a)
{
	char text[IP_ADDR_STRLEN];

	add_string(d, name, ip_addr_format(text, a));
}

void add_prefix(struct rte_tel_data *d, const char *name, const struct ip_prefix *p)
{
	char text[IP_PREFIX_STRLEN];

	add_string(d, name, ip_prefix_format(text, p));
}

void add_proto(struct rte_tel_data *d, const char *name, uint16_t proto)
{
	char text[VIEW_TEXT_MAX];

	add_string(d, name, view_proto_text(text, proto));
}

bool proto_parse(uint8_t *proto, const char *text)
{
	const struct proto_info *p = proto_find(text);
	unsigned int number = p != NULL ? p->number : UINT_MAX;

	if (p == NULL ? !number_parse(&number, text, UINT8_MAX) : number > UINT8_MAX)
		return false;
	*proto = (uint8_t)number;
	return true;
}

bool number_parse(unsigned int *number, const char *text, unsigned int max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value > max)
		return false;
	*number = (unsigned int)value;
	return true;
}
