// SPDX-License-Identifier: BSD-3-Clause
#include "links.h"

#include "address.h"
#include "event_log.h"
#include "originate.h"

#define CHECK_MS 1000

void links_start(struct control *c)
{
	for (unsigned int i = 0; i < c->conf->n_ports; i++) {
		c->links[i].up = c->io->has_link(c->io_arg, (uint16_t)i);
		c->io->link(c->io_arg, (uint16_t)i, c->links[i].up);
		if (!c->links[i].up)
			event_post(LINK_DOWN, EVENT_TEXT(c->conf->ports[i].name));
	}
}

static void link_changed(struct control *c, uint16_t port)
{
	struct control_link *link = &c->links[port];
	const char *name = c->conf->ports[port].name;

	link->up = !link->up;
	link->changes++;
	c->io->link(c->io_arg, port, link->up);
	if (link->up) {
		event_post(LINK_UP, EVENT_TEXT(name));
		address_restart(c, port);
		originate_announcements(c, port);
	} else {
		event_post(LINK_DOWN, EVENT_TEXT(name));
		neigh_forget(c->neigh, port);
	}
}

void links_check_now(struct control *c)
{
	c->links_next_ms = 0;
}

void links_tick(struct control *c, uint64_t now_ms)
{
	if (now_ms < c->links_next_ms)
		return;
	c->links_next_ms = now_ms + CHECK_MS;
	for (unsigned int i = 0; i < c->conf->n_ports; i++)
		if (c->io->has_link(c->io_arg, (uint16_t)i) != c->links[i].up)
			link_changed(c, (uint16_t)i);
}
