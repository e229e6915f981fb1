// SPDX-License-Identifier: BSD-3-Clause
// Counters that the driver of a port's device has besides those of every device: their names are
// the driver's.
#include <stdlib.h>
#include <string.h>

#include "telemetry_add.h"
#include "telemetry_pages.h"

#define PAGE 64 // about what fits one answer

// The device of the port that a filter names; NULL: there is none.
static const struct port *device_find(const struct gateway *g, const char *filter)
{
	static const char key[] = "name=";

	if (strncmp(filter, key, strlen(key)) != 0)
		return NULL;
	for (unsigned int i = 0; i < g->control.conf->n_ports; i++)
		if (strcmp(g->control.conf->ports[i].name, filter + strlen(key)) == 0)
			return port_device(&g->ports[i]);
	return NULL;
}

static void counters_add(struct rte_tel_data *d, const struct rte_eth_xstat value[],
	const struct rte_eth_xstat_name name[], unsigned int n, unsigned int offset)
{
	for (unsigned int i = offset; i < RTE_MIN(n, offset + PAGE); i++) {
		struct rte_tel_data *item = item_new();

		if (item == NULL)
			return;
		add_string(item, "counter", name[i].name);
		add_u64(item, "value", RTE_MIN(value[i].value, (uint64_t)INT64_MAX)); // of JSON
		add_item(d, i, item);
	}
}

static void device_page(struct rte_tel_data *d, uint16_t id, unsigned int offset)
{
	int n = rte_eth_xstats_get(id, NULL, 0);
	struct rte_eth_xstat *value = n > 0 ? calloc((unsigned int)n, sizeof(*value)) : NULL;
	struct rte_eth_xstat_name *name = n > 0 ? calloc((unsigned int)n, sizeof(*name)) : NULL;

	if (value != NULL && name != NULL && rte_eth_xstats_get(id, value, (unsigned int)n) == n &&
		rte_eth_xstats_get_names(id, name, (unsigned int)n) == n)
		counters_add(d, value, name, (unsigned int)n, offset);
	free(value);
	free(name);
}

void device_counters_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	const struct port *device;

	pthread_mutex_lock(&g->control.lock);
	device = device_find(g, filter);
	if (device != NULL && device->open)
		device_page(d, device->id, offset);
	pthread_mutex_unlock(&g->control.lock);
}
