// SPDX-License-Identifier: BSD-3-Clause
// Messages of multicast listener discovery, for a listener: version 2 (RFC 3810) and version 1 (RFC
// 2710). Pure functions, any thread. When to send which report: lib/neigh/listener.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ip.h>

#include "addr.h"

enum mld_fault {
	MLD_GOOD,
	MLD_NOT_OURS,  // no query
	MLD_MALFORMED, // or not from a router on this link
};

// A query. Sources in it are ignored: a listener to all sources answers with the whole state of the
// group, which includes them.
struct mld_query {
	struct ip_addr group; // none (::): all
	uint32_t delay_ms;    // within which to answer
	uint32_t interval_s;  // from one general query to the next; 0 in version 1
	bool v1;
};

// Reads a packet that ipv6_check() has passed and that begins with hop-by-hop options, as all of
// MLD does: a query that is valid by RFC 3810 5.1.14, 6.2 and 8.1. *q is valid if it is MLD_GOOD.
enum mld_fault mld_read(struct mld_query *q, const struct rte_ipv6_hdr *ip);

// Report about a group all of whose sources are listened to, as a type of record (RFC 3810 5.2.12).
enum mld_record {
	MLD_LISTENS = 2, // MODE_IS_EXCLUDE: the answer to a query
	MLD_LEAVES = 3,  // CHANGE_TO_INCLUDE_MODE, of no source
	MLD_JOINS = 4,   // CHANGE_TO_EXCLUDE_MODE
};

// Octets of a report about n groups.
#define MLD_REPORT_LEN(n) (56 + 20 * (n))

// Writes the whole IP packet of a report about n groups to out, which holds MLD_REPORT_LEN(n)
// octets. source is link-local, or none (::) as long as no such address may be used (RFC 3810
// 5.2.13). Returns its length.
uint16_t mld_report_build(uint8_t *out, const struct ip_addr *source, enum mld_record record,
	const struct ip_addr group[], unsigned int n);

// Octets of a message of version 1.
#define MLD_V1_LEN 72

// The same in version 1: a report about one group, out holds MLD_V1_LEN octets. With MLD_LEAVES it
// is a Done.
uint16_t mld_v1_build(uint8_t *out, const struct ip_addr *source, enum mld_record record,
	const struct ip_addr *group);
