// SPDX-License-Identifier: BSD-3-Clause
#include "port_change.h"

#include "links.h"
#include "log.h"

void port_change_prepare(struct control *c, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (conf_port_is_only_in(conf, c->conf, i) && conf->ports[i].vlan != 0)
			c->ports[i].mac = c->ports[conf->ports[i].parent].mac;
}

static void log_added(const struct conf_port *p)
{
	if (p->vlan != 0)
		log_info("port \"%s\": added, VLAN %u of port \"%s\"", p->name, p->vlan,
			p->parent_name);
	else
		log_info("port \"%s\": added, device \"%s\"", p->name, p->device);
}

void port_change_follow(struct control *c, const struct conf *former)
{
	const struct conf *conf = c->conf;

	for (unsigned int i = 0; i < former->n_ports; i++)
		if (conf_port_is_only_in(former, conf, i)) {
			c->guests[i] = (struct conf_guests){0};
			c->followed[i] = (struct conf_followed){0};
			c->leaving[i] =
				(struct port_leaving){.has_device = former->ports[i].vlan == 0};
			log_info("port \"%s\": removed", former->ports[i].name);
		}
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (conf_port_is_only_in(conf, former, i)) {
			log_added(&conf->ports[i]);
			links_add(c, (uint16_t)i);
		}
}

static void number_release(struct control *c, uint16_t number, uint64_t now_ms)
{
	const struct flow_filter of_port = {.iface = {1u + number, 1u + IFACE_HOST(number)}};
	struct port_leaving *l = &c->leaving[number];

	if (l->free_ms == 0) {
		l->free_ms = now_ms + CONF_PORT_LEAVES_S * UINT64_C(1000);
		neigh_forget(c->neigh, number);
	}
	if (!l->is_flushed)
		l->is_flushed = flow_flush(c->flows, &of_port) == 0;
	if (!l->is_flushed || now_ms < l->free_ms || l->has_device || !flow_flush_is_over(c->flows))
		return;
	neigh_forget(c->neigh, number); // learnt from packets in flight
	*l = (struct port_leaving){0};
	atomic_fetch_and_explicit(
		&c->conf->ports_leaving, ~(UINT32_C(1) << number), memory_order_relaxed);
}

void port_change_tick(struct control *c, uint64_t now_ms)
{
	const uint32_t leaving =
		atomic_load_explicit(&c->conf->ports_leaving, memory_order_relaxed);

	for (uint16_t i = 0; c->retired == NULL && i < PORTS_MAX; i++)
		if ((leaving >> i & 1) != 0)
			number_release(c, i, now_ms);
}
