// SPDX-License-Identifier: BSD-3-Clause
// Values of a firewall rule in the configuration, the datapath and lists, and the words for them.
// Constant; any thread.
#pragma once

enum rule_action { RULE_ACCEPT, RULE_DROP, RULE_REJECT };

// Packets that a rule is about: that are forwarded, or for the host.
enum rule_scope { RULE_FORWARD, RULE_HOST, RULE_SCOPES };

// Class of a packet in its connection.
enum rule_state {
	RULE_NEW,
	RULE_ESTABLISHED,
	RULE_RELATED, // an ICMP error about a connection
	RULE_INVALID, // of no connection, and cannot start one
	RULE_STATES,
};

// By these numbers; NULL after the last.
extern const char *const rule_action_names[];
extern const char *const rule_state_names[];
