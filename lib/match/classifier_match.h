// SPDX-License-Identifier: BSD-3-Clause
// The packets that a rule or policy is about, by one value or a list of each kind. A rule with
// lists stands for rules without: one for each combination. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "proto_model.h"

#define CLASSIFIER_ANY  UINT32_MAX // any port of the gateway
#define ACL_PORT_OPAQUE 0x10000    // no port, or not visible: fragments (RFC 4301 4.4.1.1)

// Inclusive, host byte order. 0 to ACL_PORT_OPAQUE matches everything.
struct acl_port_range {
	uint32_t min, max;
};

// Without a restriction, packets that show no ports match as well.
static inline struct acl_port_range acl_port_range(uint16_t min, uint16_t max)
{
	bool any = min == 0 && max == UINT16_MAX;

	return (struct acl_port_range){min, any ? ACL_PORT_OPAQUE : max};
}

// Further values of a rule, of which a packet matches any: none of them overlaps another one of the
// same kind.
struct classifier_lists {
	// Where there are any, those of one family combine with each other; ::/0 is IPv6 alone.
	const struct ip_prefix *source, *destination;
	const uint16_t *proto;
	const struct proto_ports *source_port, *destination_port;
	unsigned int n_source, n_destination, n_proto, n_source_port, n_destination_port;
};

// Packets that a rule is about.
struct classifier_match {
	const struct classifier_lists *more;  // beside the values below; NULL: there are none
	enum ip_family family;                // of packets, further restricted by the prefixes
	struct ip_prefix source, destination; // of one family; ::/0 means IPv4 as well
	uint16_t proto;                       // or PROTO_ANY
	struct acl_port_range source_port, destination_port; // of ICMP: type << 8 | code, any
	uint32_t in, out; // numbers of interfaces, or CLASSIFIER_ANY
};

// Whether two rules have the same addresses or ports at an end.
static inline bool classifier_prefixes_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len == b->len && ip_addr_equal(&a->addr, &b->addr);
}

static inline bool classifier_ports_equal(
	const struct acl_port_range *a, const struct acl_port_range *b)
{
	return a->min == b->min && a->max == b->max;
}

// Whether a rule can match packets of this family: by its own family, and by both prefixes.
static inline bool classifier_has_family(enum ip_family own, const struct ip_prefix *source,
	const struct ip_prefix *destination, enum ip_family family)
{
	return (own == IP_ANY || own == family) &&
	       (source->len == 0 || ip_addr_family(&source->addr) == family) &&
	       (destination->len == 0 || ip_addr_family(&destination->addr) == family);
}

// A copy, in memory of its own, which free() frees. NULL without memory.
struct classifier_lists *classifier_lists_copy(const struct classifier_lists *l);

// Whether both are NULL, or have the same values in the same order.
bool classifier_lists_equal(const struct classifier_lists *a, const struct classifier_lists *b);

// Writes the next of the matches without lists that stand for a match, from *i = 0 on. False after
// the last.
bool classifier_next(
	struct classifier_match *one, const struct classifier_match *m, unsigned int *i);

// How many these are.
unsigned int classifier_combinations(const struct classifier_match *m);
