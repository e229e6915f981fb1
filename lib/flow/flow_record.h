// SPDX-License-Identifier: BSD-3-Clause
// Records of flows for their export (RFC 7011): one when a flow ends, and for long flows one after
// each active timeout. Each has the packets since the last record of the flow. A worker writes a
// record of an ended flow to its ring and never waits: a record that finds the ring full is lost,
// and counted. The control thread reads the rings, and finds long flows by scans of the table.
// Without flow_records_start() a flow ends as before, but for one comparison.
#pragma once

#include "flow.h"

#define FLOW_RECORDS 16384 // in a ring, a power of two

// Packets of a direction, since the last record of the flow.
struct flow_record_dir {
	uint64_t packets, octets; // that connection tracking accepted
	uint32_t dropped;         // packets of the flow that were refused: flow_count_drop()
	uint32_t seen_ms;         // when the last packet came
	uint32_t generation;      // of the last decision; 0: it is not known, nor the rest
	uint32_t ingress;
	uint16_t in, out; // numbers of the policies that admitted and sent it
	bool protected;   // out sends through an SA
};

struct flow_record {
	// Of packets of the end that began first, as received and as sent; ports of an ICMP query
	// are its identifier.
	struct ip_ends from, to;
	struct flow_record_dir dir[2]; // 0: of the end that began first
	uint32_t number;               // of the entry
	uint32_t created_ms;           // which together name a flow
	uint32_t begun_ms; // of the packets: after the last record, or when it was created
	uint8_t proto, icmp_type, icmp_code;
	bool query; // of ICMP
	bool translated;
	enum flow_end end;
};

// Control thread, here and below. Makes workers write records from now on; or not any more.
// Returns 0 or -ENOMEM.
int flow_records_start(struct flow_table *t);
void flow_records_stop(struct flow_table *t);

// Takes the oldest record of a worker. False: there is none.
bool flow_record_next(struct flow_table *t, unsigned int worker, struct flow_record *r);

// Takes the record of a long flow. False: it cannot now, and gets it again.
typedef bool flow_record_fn(void *arg, const struct flow_record *r);

// Looks at the next part of the table, for flows whose last record, or begin, is active_ms or more
// ago and that had packets since. *position: 0 at the start of the table, moved on.
void flow_records_scan(struct flow_table *t, uint32_t *position, uint32_t now, uint32_t active_ms,
	flow_record_fn *take, void *arg);

// Worker. Counts a packet of the flow that is dropped. Only while records are made.
void flow_count_drop(struct flow_table *t, const struct flow *f, unsigned int dir);
