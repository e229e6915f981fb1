// SPDX-License-Identifier: BSD-3-Clause
#include "links.h"

#include "address.h"
#include "event_log.h"
#include "originate.h"

#define CHECK_MS 1000

// Flows by one of several next hops see the store with their next packet; SAs follow later.
static void link_note(struct control *c, uint16_t port)
{
	atomic_store_explicit(
		&c->snapshot->objects->link_down[port], !c->links[port].up, memory_order_release);
	c->routes_changed = true;
}

void links_add(struct control *c, uint16_t port)
{
	struct control_link *link = &c->links[port];

	*link = (struct control_link){
		.up = c->io->has_link(c->io_arg, port), .active = c->io->active(c->io_arg, port)};
	link_note(c, port);
	c->io->link(c->io_arg, port, link->up);
	if (!link->up)
		event_post(LINK_DOWN, EVENT_TEXT(c->conf->ports[port].name));
}

void links_start(struct control *c)
{
	for (unsigned int i = 0; i < c->conf->n_ports; i++)
		links_add(c, (uint16_t)i);
}

static void link_changed(struct control *c, uint16_t port)
{
	struct control_link *link = &c->links[port];
	const char *name = c->conf->ports[port].name;

	link->up = !link->up;
	link->changes++;
	link_note(c, port);
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

// Another member sends for a port: switches learn the place of the port from its packets.
static void members_check(struct control *c, uint16_t port)
{
	const struct conf_port *p = &c->conf->ports[port];
	struct control_link *link = &c->links[port];
	uint32_t now = c->io->active(c->io_arg, port), was = link->active;

	if (now == was || conf_port_is_free(p))
		return;
	link->active = now;
	for (unsigned int i = 0; i < p->n_members; i++) {
		uint32_t bit = 1u << i;

		if ((now & ~was & bit) != 0)
			event_post(MEMBER_ACTIVE, EVENT_TEXT(p->name), EVENT_TEXT(p->members[i]));
		else if ((was & ~now & bit) != 0)
			event_post(MEMBER_INACTIVE, EVENT_TEXT(p->name), EVENT_TEXT(p->members[i]));
	}
	if (now == 0 || was == 0) { // the link has changed
		links_check_now(c);
	} else if ((now & ~was) != 0) {
		originate_announcements(c, port);
		listener_report_all(c->listener, port);
	}
}

void links_tick(struct control *c, uint64_t now_ms)
{
	const struct conf *conf = c->conf;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		members_check(c, (uint16_t)i);
	if (now_ms < c->links_next_ms)
		return;
	c->links_next_ms = now_ms + CHECK_MS;
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (!conf_port_is_free(&conf->ports[i]) &&
			c->io->has_link(c->io_arg, (uint16_t)i) != c->links[i].up)
			link_changed(c, (uint16_t)i);
}
