// SPDX-License-Identifier: BSD-3-Clause
#include "port_flow.h"

#include <errno.h>

#include "eal_log.h"
#include "machine.h"

int port_flow_isolate(uint16_t id, const struct conf_port *c)
{
	struct rte_flow_error error;

	return c->isolated ? rte_flow_isolate(id, 1, &error) : 0;
}

static void report(const struct conf_port *c, const struct port_rules *r)
{
	if (r->what[0] != '\0')
		log_info("port \"%s\": ESP is distributed by addresses alone, so that all SAs of a "
			 "peer share a queue; the device refuses a rule for %s: %s",
			c->name, r->what, r->why);
}

int port_flow_start(struct port_rules **made, const struct flow_device *d,
	const struct port_offloads *offloads, const struct conf *conf, const struct conf_port *c,
	const char **why)
{
	uint16_t port[CONF_ISOLATED_UDP_MAX];
	const struct port_rules_use use = {
		.hash_esp = !port_offloads_spread_esp(offloads),
		.isolated = c->isolated,
		.steer = c->steer,
		.udp_ports = port,
		.n_udp_ports = conf_isolated_udp_ports(conf, port),
	};

	*why = "out of memory";
	if (!c->unprotected)
		return 0;
	*made = port_rules_new(d, &use);
	if (*made == NULL)
		return -ENOMEM;
	*why = (*made)->why;
	if (c->isolated && (*made)->what[0] != '\0')
		return -ENOTSUP;
	report(c, *made);
	return 0;
}

void port_flow_change(struct port_rules *r, const struct conf_port *c)
{
	eal_log_begin();
	if (port_rules_change(r))
		log_warn("port \"%s\": the device takes no rule for a further SA, has %u: %s",
			c->name, r->n, r->why);
	eal_log_end(false);
}
