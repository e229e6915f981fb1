// SPDX-License-Identifier: BSD-3-Clause
// Packets from the host behind a port (host.h), taken from a ring, which are sent as packets that
// the gateway originates, subject to policy (RFC 4301 5), with flows, without rules. Multicast
// stays on the link. Workers.
#pragma once

#include "worker.h"

// Whether the host has sent packets.
static inline bool host_pending(const struct worker *w)
{
	return unlikely(w->from_host != NULL) && !rte_ring_empty(w->from_host);
}

// Takes at most n packets of the host.
void host_input(struct worker *w, uint16_t n);

// Drops packets from the host, when the worker stops.
void host_stop(struct worker *w);
