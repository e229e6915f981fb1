// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of IPv4 fragments (RFC 791 3.2) by librte_ip_frag, before anything looks at ports or
// opens ESP: bounded in datagrams, fragments of one (8) and time. Workers, each with its own
// tables.
#pragma once

#include <rte_ip_frag.h>
#include <rte_mempool.h>

struct worker;
struct pkt;

struct reassembly {
	struct rte_ip_frag_tbl *table;
	uint32_t held; // fragments that wait for others
};

// Makes a table for max datagrams, each waiting at most ttl TSC cycles. Control thread. Returns 0
// or -ENOMEM.
int reassembly_init(struct reassembly *r, uint32_t max, uint64_t ttl);

// Frees what still waits.
void reassembly_fini(struct reassembly *r);

// Takes the fragment in p. True: it was the last one missing, and p->m is the whole packet,
// contiguous. False: it waits, or it is counted as dropped. origin says where it came from:
// fragments from different origins are never put together.
bool reassemble(struct worker *w, struct reassembly *r, struct pkt *p, uint32_t origin);

// Drops what has waited too long. Every millisecond.
void reassembly_expire(struct worker *w, struct reassembly *r);
