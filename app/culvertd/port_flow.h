// SPDX-License-Identifier: BSD-3-Clause
// Which rules the card of a port gets, from the configuration and from what RSS does, and what is
// logged about those that it refuses. The thread that opens the device.
#pragma once

#include "conf.h"
#include "port_offload.h"
#include "port_rules.h"

// Before the device is configured: leaves what no rule takes to the kernel, if the port is
// isolated. id: ethdev's number. Returns 0, or -errno if the device cannot do that.
int port_flow_isolate(uint16_t id, const struct conf_port *c);

// When the device is started: makes its rules, which the caller frees while it is still open;
// *made stays NULL for a port that needs none. Returns 0; -errno with *why, valid as long as *made,
// if there is no memory or an isolated port lacks a rule.
int port_flow_start(struct port_rules **made, const struct flow_device *d,
	const struct port_offloads *offloads, const struct conf *conf, const struct conf_port *c,
	const char **why);

// Gives some of the inbound SAs their queues, as port_rules_plan() wants it.
void port_flow_change(struct port_rules *r, const struct conf_port *c);
