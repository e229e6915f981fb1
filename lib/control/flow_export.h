// SPDX-License-Identifier: BSD-3-Clause
// Export of flows to a collector by IPFIX over UDP (RFC 7011, RFC 5153): of flows that have ended,
// and of long ones after each active timeout. Workers write records (lib/flow/flow_record.h); this
// sends them, at most flow_export.rate in a second. While the collector is gone they wait in the
// rings, then get lost, and are counted. Control thread, with the gateway's lock.
#pragma once

#include "control.h"

struct flow_export_counters {
	uint64_t records;          // sent: of each flow one or two
	uint64_t not_sent;         // records for which sending failed
	uint64_t messages, octets; // sent
};

// Does the work that is due, as c->conf wants it. Returns whether there was some.
bool flow_export_tick(struct control *c, uint64_t now_ms);

struct flow_export_counters flow_export_counts(const struct control *c);

// Frees the memory of flow_export_tick(). When no worker runs any more.
void flow_export_free(struct control *c);
