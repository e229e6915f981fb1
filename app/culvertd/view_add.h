// SPDX-License-Identifier: BSD-3-Clause
// Fields of lists that take more than their view's member: what lib/stats/field.def names in ADD().
// Each adds its value under the name to an item of an answer.
#pragma once

#include <rte_telemetry.h>

typedef void add_fn(struct rte_tel_data *item, const char *name, const void *view);

add_fn add_port_addresses;
add_fn add_sa_drops;
add_fn add_tunnel_in;
add_fn add_policy_local, add_policy_remote, add_policy_proto, add_policy_in;
add_fn add_policy_local_port, add_policy_remote_port, add_policy_local_icmp, add_policy_remote_icmp;
add_fn add_rule_source, add_rule_destination, add_rule_proto, add_rule_states;
add_fn add_rule_source_port, add_rule_destination_port, add_rule_icmp;
add_fn add_route_to;
