// SPDX-License-Identifier: BSD-3-Clause
// What a firewall rule may be about and do, in the configuration, in the datapath and where it is
// shown, and the words for it. Constant; any thread.
#pragma once

enum rule_action { RULE_ACCEPT, RULE_DROP, RULE_REJECT };

// Packets that a rule is about: that are forwarded, or for the host.
enum rule_scope { RULE_FORWARD, RULE_HOST, RULE_SCOPES };

// What a packet is to its connection.
enum rule_state {
	RULE_NEW,
	RULE_ESTABLISHED,
	RULE_RELATED, // an ICMP error about a connection
	RULE_INVALID, // of no connection, and cannot start one
	RULE_STATES,
};

// By these numbers; NULL behind the last.
extern const char *const rule_action_names[];
extern const char *const rule_state_names[];
