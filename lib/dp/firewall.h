// SPDX-License-Identifier: BSD-3-Clause
// The firewall's part of a decision: asks the rules, and does what they say about packets that are
// not let through. Workers.
#pragma once

#include "rule.h"
#include "worker.h"

// Asks the rules about a packet whose way is known. Returns DROP_NONE, DROP_RULE_DROP or
// DROP_RULE_REJECT, after which the sender is told.
enum drop firewall_check(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, enum rule_state state);

// The same about an answer: rules speak of what began the connection, so it is seen from there.
enum drop firewall_check_reply(struct worker *w, struct pkt *p, const struct flow_pkt *fp);

// Whether a rule, not just the default, accepts a packet that connection tracking has refused.
bool firewall_accepts_invalid(struct worker *w, const struct pkt *p);

// The rule that decides about such a packet. Counts, logs and sends nothing.
const struct rule *firewall_find(
	const struct worker *w, const struct pkt *p, enum rule_state state);
