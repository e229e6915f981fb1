// SPDX-License-Identifier: BSD-3-Clause
#include "links.h"

#include "address.h"
#include "control.h"
#include "event_log.h"
#include "iface.h"

#define LOOK_MS 1000

// Drivers of packet sockets know nothing of their interface's link: the kernel does.
static bool is_up(const struct port *p)
{
	struct rte_eth_link link = {0};

	if (conf_device_is_attached(p->conf->device))
		return iface_has_link(p->conf->device);
	return rte_eth_link_get_nowait(p->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void links_start(struct gateway *g)
{
	for (unsigned int i = 0; i < g->conf->n_ports; i++) {
		struct port *p = &g->ports[i];

		p->link_up = is_up(p);
		if (!p->link_up)
			event_post(LINK_DOWN, EVENT_TEXT(p->conf->name));
	}
}

static void changed(struct gateway *g, uint16_t port)
{
	struct port *p = &g->ports[port];

	p->link_up = !p->link_up;
	p->link_changes++;
	if (p->link_up) {
		event_post(LINK_UP, EVENT_TEXT(p->conf->name));
		address_restart(g, port);
		control_announce(g, port);
	} else {
		event_post(LINK_DOWN, EVENT_TEXT(p->conf->name));
		neigh_forget(g->neigh, port);
	}
}

void links_tick(struct gateway *g, uint64_t now_ms)
{
	if (now_ms < g->link_next)
		return;
	g->link_next = now_ms + LOOK_MS;
	for (unsigned int i = 0; i < g->conf->n_ports; i++)
		if (is_up(&g->ports[i]) != g->ports[i].link_up)
			changed(g, (uint16_t)i);
}
