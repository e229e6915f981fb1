// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_add.h"

#include <stdio.h>

#include "dpdk_compat.h"
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
