// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of fragments (RFC 791 3.2, RFC 8200 4.5), before anything looks at ports or opens ESP.
// Each worker has a table for each side, so that nobody outside can fill that of the hosts inside;
// fragments out of tunnels are kept apart by policy. Workers.
#pragma once

#include <stdbool.h>

#include "frag_table.h"

struct ipv6_upper;
struct pkt;
struct worker;

enum reassembly_side {
	REASSEMBLY_PROTECTED,   // came in clear by a protected port
	REASSEMBLY_UNPROTECTED, // came in clear by an unprotected port
	REASSEMBLY_TUNNEL,      // came out of an SA
	REASSEMBLY_SIDES
};

struct reassembly {
	struct frag_table table;
	uint64_t ttl; // TSC cycles that fragments wait at most
};

// Makes room for the fragments in so many buffers. Control thread. Returns 0 or -ENOMEM.
int reassembly_init(
	struct reassembly *r, uint32_t buffers_max, uint64_t ttl, const struct hash_key *hash_key);

// Frees what still waits.
void reassembly_fini(struct reassembly *r);

// Takes the fragment in p. True: it was the last one missing, and p->m is the whole packet,
// contiguous. False: it waits, another worker has it, or it is counted as dropped.
bool reassemble_v4(struct worker *w, struct pkt *p);

// The same for IPv6. upper is what ipv6_upper_find() has found in the fragment.
bool reassemble_v6(struct worker *w, struct pkt *p, const struct ipv6_upper *upper);

// A first fragment of IPv6 that does not show all headers (RFC 7112): its sender is told.
void reassemble_report_first(struct worker *w, struct pkt *p);

// Drops what has waited too long. Every millisecond.
void reassembly_expire(struct worker *w);

// Drops all that waits, when the worker stops.
void reassembly_stop(struct worker *w);
