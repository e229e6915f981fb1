// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of fragments (RFC 791 3.2, RFC 8200 4.5) by librte_ip_frag, before anything looks at
// ports or opens ESP: bounded in datagrams, fragments of one (8), buffers and time. Each worker has
// a table for each side, so that nobody outside can fill that of the hosts inside. Workers.
#pragma once

#include <stdbool.h>

#include <rte_ip_frag.h>

struct worker;
struct pkt;

enum reassembly_side {
	REASSEMBLY_PROTECTED,   // came in clear by a protected port
	REASSEMBLY_UNPROTECTED, // came in clear by an unprotected port
	REASSEMBLY_TUNNEL,      // came out of an SA
	REASSEMBLY_SIDES
};

struct reassembly {
	struct rte_ip_frag_tbl *table;
	uint32_t held;     // fragments that wait for others
	uint32_t held_max; // at most
	uint64_t ttl;      // TSC cycles that they wait at most
};

// Makes a table for held_max fragments. Control thread. Returns 0 or -ENOMEM.
int reassembly_init(struct reassembly *r, uint32_t held_max, uint64_t ttl);

// Frees what still waits.
void reassembly_fini(struct reassembly *r);

// Takes the fragment in p. True: it was the last one missing, and p->m is the whole packet,
// contiguous. False: it waits, or it is counted as dropped.
bool reassemble(struct worker *w, struct pkt *p);

// The same for IPv6. frag_off: octets to its fragment header. Nothing may stand in front of that
// but the IPv6 header: nobody sends it, and the library could not put it together.
bool reassemble_v6(struct worker *w, struct pkt *p, uint16_t frag_off);

// Drops what has waited too long. Every millisecond.
void reassembly_expire(struct worker *w);
