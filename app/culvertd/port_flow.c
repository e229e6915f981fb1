// SPDX-License-Identifier: BSD-3-Clause
#include "port_flow.h"

#include <errno.h>

#include "eal_log.h"
#include "machine.h"

#define UDP_PORTS_MAX 16
#define UDP_PORT_IKE  4500 // RFC 3948, and of SAs that IKE adds later

int port_flow_isolate(uint16_t id, const struct conf_port *c)
{
	struct rte_flow_error error;

	return c->isolated ? rte_flow_isolate(id, 1, &error) : 0;
}

// Own UDP ports of the SAs, each once. Returns how many; those that have no room are left out.
static unsigned int udp_ports(rte_be16_t to[UDP_PORTS_MAX], const struct conf *conf)
{
	unsigned int n = 0;

	to[n++] = RTE_BE16(UDP_PORT_IKE);
	for (unsigned int i = 0; i < conf->n_sas && n < UDP_PORTS_MAX; i++) {
		const struct sa_options *o = &conf->sas[i].opt;
		unsigned int k = 0;

		if (!o->in_udp || o->direction != SA_IN)
			continue;
		while (k < n && to[k] != rte_cpu_to_be_16(o->udp_local_port))
			k++;
		to[k] = rte_cpu_to_be_16(o->udp_local_port);
		n = RTE_MAX(n, k + 1);
	}
	return n;
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
	rte_be16_t port[UDP_PORTS_MAX];
	const struct port_rules_use use = {
		.hash_esp = !port_offloads_spread_esp(offloads),
		.isolated = c->isolated,
		.steer = c->steer,
		.udp_ports = port,
		.n_udp_ports = udp_ports(port, conf),
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

void port_flow_tick(struct port_rules *r, const struct conf_port *c, const struct snapshot *s)
{
	if (r == NULL || !r->steer)
		return;
	eal_log_begin();
	if (port_rules_steer(r, s))
		log_warn("port \"%s\": the device takes no rule for a further SA, has %u: %s",
			c->name, r->n, r->why);
	eal_log_end(false);
}
