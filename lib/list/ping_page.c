// SPDX-License-Identifier: BSD-3-Clause
#include "page.h"

#include <rte_cycles.h>

#include "filter.h"

static void result_add(struct rte_tel_data *o, const struct ping *ping)
{
	if (ping->state == PING_ANSWERED)
		add_u64(o, "round_trip_ns",
			(uint64_t)((double)ping->round_trip * 1e9 / (double)rte_get_tsc_hz()));
	if (ping->state != PING_TOO_BIG && ping->state != PING_UNREACHABLE)
		return;
	add_addr(o, "by", &ping->by);
	if (ping->mtu != 0)
		add_u64(o, "mtu", ping->mtu);
	if (ping->fits != 0)
		add_u64(o, "fits", ping->fits);
	if (ping->state == PING_UNREACHABLE) {
		add_u64(o, "icmp_type", ping->icmp_type);
		add_u64(o, "icmp_code", ping->icmp_code);
	}
}

void ping_page(const struct page *p)
{
	char why[RTE_TEL_MAX_STRING_LEN];
	const struct ping *ping;
	struct rte_tel_data *o;
	uint32_t number;

	if (!filter_ping_number_parse(&number, p->filter, why, sizeof(why))) {
		page_refuse(p, why);
		return;
	}
	ping = ping_find(p->c, number);
	o = ping != NULL && p->offset == 0 ? item_new() : NULL;
	if (o == NULL)
		return;
	add_string(o, "state", ping_state_names[ping->state]);
	add_addr(o, "from", &ping->from);
	add_addr(o, "to", &ping->to);
	add_u64(o, "size", (uint16_t)(ping->request >> 16));
	add_u64(o, "size_max", ping->size_max);
	add_u64(o, "esp_size", ping->esp_len);
	if (ping->port < p->c->conf->n_ports) {
		add_string(o, "port", p->c->conf->ports[ping->port].name);
		add_u64(o, "port_mtu", p->c->snapshot->iface[ping->port].mtu);
	}
	result_add(o, ping);
	page_add(p, 0, o);
}
