// SPDX-License-Identifier: BSD-3-Clause
// Connection tracking of TCP. Workers; called by flow_track().
#pragma once

#include "flow_table.h"
#include "flow_track.h"

// A segment of TCP, whatever the state. now: as of flow_track(). Returns the same, but refuses a
// segment that does not fit even if not strict.
enum drop ct_tcp(struct flow_table *t, struct flow_worker *w, struct flow *f,
	const struct flow_pkt *p, uint32_t now);

// Whether the segment that an ICMP error quotes can have been sent lately (RFC 5927 4.1).
bool ct_tcp_quoted(const struct flow *f, const struct flow_pkt *p);
