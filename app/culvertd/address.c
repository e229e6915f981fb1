// SPDX-License-Identifier: BSD-3-Clause
#include "address.h"

#include <errno.h>

#include "control.h"
#include "groups.h"
#include "log.h"

static void decided(void *arg, uint16_t port, const struct ip_addr *addr, enum dad_state was,
	enum dad_state state)
{
	struct gateway *g = arg;
	char text[IP_ADDR_STRLEN];

	address_apply(g, g->snapshot);
	if (was == DAD_DUPLICATE)
		log_info("port \"%s\": address %s is used again: no other station claims it",
			g->conf->ports[port].name, ip_addr_format(text, addr));
	if (state == DAD_ASSIGNED) {
		groups_addr_assigned(g, port, addr);
		control_announce_addr(g, port, addr);
	} else {
		log_error("port \"%s\": address %s is another station's and is not used: "
			  "checked again every minute",
			g->conf->ports[port].name, ip_addr_format(text, addr));
	}
}

int address_init(struct gateway *g)
{
	g->dad = dad_new(&(struct dad_params){.max = g->conf->n_ports * PORT_ADDRS_MAX,
		.solicit = control_dad_solicit,
		.decided = decided,
		.arg = g});
	return g->dad != NULL ? 0 : -ENOMEM;
}

void address_start(struct gateway *g, const struct snapshot *s)
{
	for (unsigned int p = 0; p < s->n_ports; p++) {
		const struct snapshot_port *port = &s->port[p];

		for (unsigned int i = 0; i < port->n_addrs; i++)
			if (!ip_addr_is_v4(&port->addrs[i]))
				dad_add(g->dad, (uint16_t)p, &port->addrs[i]);
		groups_start(g, (uint16_t)p, port);
	}
	address_apply(g, s);
}

void address_restart(struct gateway *g, uint16_t port)
{
	listener_restart(g->listener, port);
	dad_restart(g->dad, port);
	address_apply(g, g->snapshot);
}

void address_apply(const struct gateway *g, const struct snapshot *s)
{
	for (unsigned int i = 0; i < s->n_sa_out; i++)
		sa_out_local_set(s->sa_out[i], dad_may_use(g->dad, &s->sa_out[i]->sa.local));
	for (unsigned int i = 0; i < s->n_sa_in; i++)
		sa_in_local_set(s->sa_in[i], dad_may_use(g->dad, &s->sa_in[i]->sa.local));
}
