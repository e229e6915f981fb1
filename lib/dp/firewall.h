// SPDX-License-Identifier: BSD-3-Clause
// Firewall rules: evaluates them for a packet, and rejects it if a rule demands it. Workers.
#pragma once

#include "rule.h"
#include "worker.h"

// Evaluates the rules for a packet whose policies and route are known. Returns DROP_NONE,
// DROP_RULE_DROP or DROP_RULE_REJECT; then an ICMP error or a reset was sent. The default is not
// for the host: DROP_LOCAL_UNSERVED.
enum drop firewall_check(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, enum rule_state state);

// The same for a packet of the reply direction: rules are about the original direction, so its ends
// are exchanged.
enum drop firewall_check_reply(struct worker *w, struct pkt *p, const struct flow_pkt *fp);

// The number of the rule that decides about a packet, as in union flow_deciders; 0: the default.
// p->in_by and w->by.out have the tunnels of its ingress and egress. Counts, logs and sends
// nothing.
uint32_t firewall_rule_of(const struct worker *w, const struct pkt *p, enum rule_state state);

// Whether a rule other than the default accepts a packet that is invalid to connection tracking.
bool firewall_accepts_invalid(struct worker *w, const struct pkt *p);

// The rule that decides about a packet. Counts, logs and sends nothing.
const struct rule *firewall_find(
	const struct worker *w, const struct pkt *p, enum rule_state state);
