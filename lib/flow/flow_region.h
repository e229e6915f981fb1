// SPDX-License-Identifier: BSD-3-Clause
// Regions of addresses. A change of a route may decide otherwise about the flows from and to the
// addresses that it covers: whether a source is admitted, and whether a policy applies. So the
// flows of its regions are decided again (flow_redecide()), and no others. A region has the
// addresses of IPv4 with the same first 16 bits, or those of IPv6 whose first three groups of 16
// bits have the same exclusive or: a prefix of 48 bits or more is in one, a prefix of 32 bits in
// all. Pure functions, any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "bits.h"

#define FLOW_REGIONS (2u << 16) // of IPv4, then of IPv6

// A set of regions.
struct flow_regions {
	uint64_t bits[FLOW_REGIONS / 64];
	bool any;
};

static inline uint32_t flow_region_of(const struct ip_addr *a)
{
	uint16_t v6 = rte_be_to_cpu_16((uint16_t)(a->w[0] ^ a->w[0] >> 16 ^ a->w[1]));

	return ip_addr_is_v4(a) ? rte_be_to_cpu_16((uint16_t)a->w[3]) : 1u << 16 | v6;
}

static inline bool flow_regions_have(const struct flow_regions *set, const struct ip_addr *a)
{
	return bits_have(set->bits, flow_region_of(a));
}

// Adds the regions of all addresses of a prefix.
void flow_regions_add(struct flow_regions *set, const struct ip_prefix *prefix);

// Adds the regions of another set.
void flow_regions_join(struct flow_regions *set, const struct flow_regions *other);
