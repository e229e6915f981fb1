// SPDX-License-Identifier: BSD-3-Clause
// Ports that the kernel shares: what can go wrong with them is refused.
#include "conf_check.h"

static bool is_parent(const struct conf *c, unsigned int port)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].vlan != 0 && c->ports[i].parent == port)
			return true;
	return false;
}

static bool has_neighbour(const struct conf *c, unsigned int port)
{
	for (unsigned int i = 0; i < c->n_neighbours; i++)
		if (c->neighbours[i].port == port)
			return true;
	return false;
}

void conf_check_isolated(struct conf_reader *r)
{
	const struct conf *c = r->c;

	for (unsigned int i = 0; i < c->n_ports; i++) {
		config_setting_t *s = conf_given(conf_item(r, "ports", i), "isolated");

		if (!c->ports[i].isolated || s == NULL)
			continue;
		if (is_parent(c, i))
			conf_err(r, s, "a port with VLANs cannot be shared with the kernel");
		else if (!c->ports[i].unprotected && !conf_rejected(r->root, "sas"))
			conf_err(r, s,
				"is for unprotected ports: here, packets that no rule takes would "
				"pass the kernel instead of a tunnel");
		else if (!has_neighbour(c, i) && !conf_rejected(r->root, "neighbours"))
			conf_err(r, s,
				"the kernel receives ARP and neighbour discovery of the port: its "
				"next hops must be in neighbours");
	}
}
