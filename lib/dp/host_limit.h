// SPDX-License-Identifier: BSD-3-Clause
// Limits of packets to and from the host (docs/decisions/0037-the-host-behind-a-port.md), so that a
// flood of one service leaves others, and connections that are established, theirs: token buckets
// by port, class and share, and for decapsulated packets by SA and class. Workers.
#pragma once

#include "worker.h"

// The limit of a packet for the host. f is its flow, NULL if there is none yet. rule: the number of
// the rule that admits the flow, as in union flow_deciders; 0: none, as the host has begun it.
struct host_limit host_limit_of(
	const struct worker *w, const struct flow_pkt *fp, const struct flow *f, uint32_t rule);

// The same for a packet that the host sends, whole or a fragment, with its layout.
struct host_limit host_limit_sent(const struct worker *w, const struct pkt *p);

// Whether the limit admits one packet more.
bool host_has_token(struct worker *w, const struct pkt *p, struct host_limit limit);

// The same, and the packet is counted.
bool host_take_token(struct worker *w, const struct pkt *p, struct host_limit limit);
