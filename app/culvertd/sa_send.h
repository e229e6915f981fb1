// SPDX-License-Identifier: BSD-3-Clause
// Where packets go that the control thread itself sends along the path of an SA: NAT-keepalives,
// probes. Control thread.
#pragma once

#include "gateway.h"

// Whether the link address of the next hop on an SA's path is known; if not it is resolved.
bool sa_send_ready(
	struct gateway *g, const struct sa_out *sa, struct rte_ether_addr *mac, uint64_t now_ms);

// Sends an IP packet along the path of an SA to that next hop. Takes m.
void sa_send(struct gateway *g, const struct sa_out *sa, struct rte_mbuf *m,
	const struct rte_ether_addr *mac);
