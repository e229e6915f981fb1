// SPDX-License-Identifier: BSD-3-Clause
// Firewall rules: an ordered list, the first that matches decides. Asked once for a connection, and
// again when the rules have changed; what belongs to an accepted connection follows its flow entry.
// Immutable: made by the control thread as part of a snapshot, read by all workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "acl_field.h"
#include "addr.h"
#include "rule_model.h"

#define RULE_NAME_MAX  32
#define RULE_PROTO_ANY 0x100
#define RULE_ANY       UINT32_MAX // port or tunnel

struct rule {
	char name[RULE_NAME_MAX];
	enum rule_action action;
	bool log;
	uint8_t states;                       // set of 1 << enum rule_state, not empty
	struct ip_prefix source, destination; // of one family; ::/0 means IPv4 as well
	enum ip_family family; // of packets that it is about, further restricted by those
	uint16_t proto;        // or RULE_PROTO_ANY
	struct acl_port_range source_port, destination_port; // of ICMP: type << 8 | code, any
	uint32_t in, out;                                    // numbers of ports, or RULE_ANY
	// Indexes of policies, ascending, by any of which the packet comes or goes; none: with or
	// without a tunnel. The caller's, looked at by rule_set_new() only.
	const uint32_t *tunnels;
	unsigned int n_tunnels;
};

// What a packet of either family shows to the rules. Laid out for rte_acl: network byte order
// throughout.
struct rule_packet {
	uint8_t proto;
	uint8_t pad[3];
	struct ip_addr source, destination;
	rte_be32_t source_port, destination_port; // of acl_sender_port(), acl_receiver_port()
	rte_be32_t in, out;               // numbers of ports, or RULE_ANY: this gateway itself
	rte_be32_t tunnel_in, tunnel_out; // 1 + index of policy; 0: none
};

struct rule_set;

// Makes a set of copies of n rules; what matches none is treated by the rule fallback. Returns NULL
// with errno ENOMEM, or what rte_acl says.
struct rule_set *rule_set_new(
	const struct rule rules[], unsigned int n, const struct rule *fallback);

// NULL is fine.
void rule_set_free(struct rule_set *s);

// The rules and, last, the fallback.
unsigned int rule_set_count(const struct rule_set *s);
const struct rule *rule_set_at(const struct rule_set *s, unsigned int i);

// The index of the rule that decides. Workers.
unsigned int rule_set_decide(
	const struct rule_set *s, const struct rule_packet *packet, enum rule_state state);
