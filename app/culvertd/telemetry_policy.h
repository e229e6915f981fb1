// SPDX-License-Identifier: BSD-3-Clause
// Items about what decides the fate of a flow: policies, the tunnels
// of those that protect, and firewall rules. Threads of
// librte_telemetry, under the gateway's lock.
#pragma once

#include "gateway.h"
#include "telemetry_add.h"

// Each writes item number i of its list: in order, false behind the last.
bool policy_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i);
bool tunnel_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i);
bool rule_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i);
