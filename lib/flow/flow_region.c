// SPDX-License-Identifier: BSD-3-Clause
#include "flow_region.h"

#include <rte_common.h>

#define V6_BITS 48 // of an address that its region depends on

// The low bits of a region's number that addresses of the prefix differ in.
static unsigned int free_bits(const struct ip_prefix *p)
{
	unsigned int end = ip_addr_is_v4(&p->addr) ? IP_V4_BITS + 16 : V6_BITS;

	return p->len < end ? RTE_MIN(end - p->len, 16u) : 0;
}

void flow_regions_add(struct flow_regions *set, const struct ip_prefix *prefix)
{
	const uint32_t n = 1u << free_bits(prefix);
	const uint32_t first = flow_region_of(&prefix->addr) & ~(n - 1);
	const uint64_t bits = n < 64 ? ((UINT64_C(1) << n) - 1) << first % 64 : UINT64_MAX;

	for (uint32_t i = first / 64; i <= (first + n - 1) / 64; i++)
		set->bits[i] |= bits;
	set->any = true;
}

void flow_regions_join(struct flow_regions *set, const struct flow_regions *other)
{
	if (!other->any)
		return;
	for (unsigned int i = 0; i < RTE_DIM(set->bits); i++)
		set->bits[i] |= other->bits[i];
	set->any = true;
}
