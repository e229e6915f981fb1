// SPDX-License-Identifier: BSD-3-Clause
// Packets on their way through: each finds the entry of its flow and with it everything that was
// decided for the flow's first packet. Only what has no entry, or one of an older configuration, is
// decided here, in the same pass: policy, route, firewall. Workers.
#pragma once

#include "policy.h"
#include "worker.h"

// By what the packets of a flow's direction arrive, kept with its decision: the SPI of an SA, or
// the number of a port. Smaller SPIs are reserved (RFC 4303 2.1).
#define INGRESS_SPI_MIN 256

static inline uint32_t transit_ingress_sa(const struct sa_in *sa)
{
	return rte_be_to_cpu_32(sa->sa.spi);
}

// Reads the headers of a packet that may go through, for transit_burst(). Returns DROP_NONE,
// DROP_CT_INVALID or DROP_ICMP_UNRELATED, unless the packet is for us.
enum drop transit_add(struct worker *w, struct pkt *p);

// Sends the packets of w->transit on to w->protect or w->forward, or to w->local if they are for
// us; empties it.
void transit_burst(struct worker *w);

// The same, while packets are traced.
void transit_burst_traced(struct worker *w);

// What policy decides about a packet whose p->nexthop is known: inbound, outbound, or both between
// two tunnels. found: of policy_find(). fp: only icmp_error is looked at, unless that is set. Sends
// nothing. Returns what policy_check_inbound() and policy_check_outbound() do.
enum drop transit_policy(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct policies *found);
