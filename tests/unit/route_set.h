// SPDX-License-Identifier: BSD-3-Clause
// Random routes as of a full table of the Internet: most prefixes of IPv4 have 24 bits, of IPv6 48,
// and are parts of fewer allocations. For large tables in tests and benchmarks.
#pragma once

#include "route.h"
#include "test.h"

// A random address of a prefix.
static inline struct ip_addr addr_in(uint64_t *seed, const struct ip_prefix *p)
{
	struct ip_addr a;

	a.q[0] = random_u64(seed);
	a.q[1] = random_u64(seed);
	for (unsigned int bit = 0; bit < p->len; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		a.b[bit / 8] = (uint8_t)((a.b[bit / 8] & ~mask) | (p->addr.b[bit / 8] & mask));
	}
	return a;
}

static inline void clear_after(struct ip_prefix *p)
{
	for (unsigned int bit = p->len; bit < 128; bit++)
		p->addr.b[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static inline struct ip_prefix prefix_of_set_v4(uint64_t *seed)
{
	static const uint8_t len[16] = {
		24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 16};
	// Unicast, from 1.0.0.0 on.
	uint32_t addr = 0x01000000 + random_below(seed, 0xde000000);
	struct ip_prefix p = {.addr = ip_addr_from_v4(rte_cpu_to_be_32(addr)),
		.len = (uint8_t)(IP_V4_BITS + len[random_below(seed, 16)])};

	clear_after(&p);
	return p;
}

static inline struct ip_prefix prefix_of_set_v6(uint64_t *seed)
{
	static const uint8_t len[16] = {
		48, 48, 48, 48, 48, 48, 48, 48, 44, 44, 40, 40, 36, 32, 32, 29};
	struct ip_prefix p = {.len = len[random_below(seed, 16)]};

	p.addr.q[0] = random_u64(seed);
	p.addr.b[0] = (uint8_t)(0x20 + random_below(seed, 2) * 10);
	p.addr.b[1] = (uint8_t)random_below(seed, 16);
	p.addr.b[3] &= 0x1c; // allocations of 30,000 networks
	clear_after(&p);
	return p;
}

static inline struct route route_of_set(uint64_t *seed, enum ip_family family)
{
	return (struct route){
		.to = family == IP_V4 ? prefix_of_set_v4(seed) : prefix_of_set_v6(seed),
		.nexthop = {.kind = NEXTHOP_GATEWAY, .iface = (uint16_t)random_below(seed, 16)}};
}
