// SPDX-License-Identifier: BSD-3-Clause
// Random policies, and packets that they match, for tests against a model.
#pragma once

#include "addrs.h"
#include "spd_policy.h"

static inline struct acl_port_range random_range(uint64_t *seed)
{
	uint32_t a = random_below(seed, 8) * 1000, b = random_below(seed, 8) * 1000;

	switch (random_below(seed, 4)) {
	case 0: // one
		return (struct acl_port_range){a, a};
	case 1: // all ports, but not packets without
		return (struct acl_port_range){0, UINT16_MAX};
	case 2:
		return (struct acl_port_range){RTE_MIN(a, b), RTE_MAX(a, b) + 1};
	default:
		return (struct acl_port_range){0, ACL_PORT_OPAQUE};
	}
}

static inline struct spd_policy random_policy(uint64_t *seed)
{
	enum ip_family family = random_family(seed);
	struct spd_policy p = {
		.action = random_below(seed, 3),
		.local = random_prefix(seed, family),
		.remote = random_prefix(seed, family),
		.family = random_below(seed, 2) == 0 ? family : IP_ANY,
		.proto = random_below(seed, 2) == 0
				 ? PROTO_ANY
				 : (uint16_t)(2 + random_below(seed, 4)), // no ICMP
		.local_port = random_range(seed),
		.remote_port = random_range(seed),
	};

	if (random_below(seed, 50) == 0) // both families
		p.local = p.remote = (struct ip_prefix){0};
	return p;
}

static inline rte_be16_t random_port(uint64_t *seed)
{
	uint32_t port = random_below(seed, 8) * 1000 + random_below(seed, 3);

	return random_below(seed, 8) == 0 ? UINT16_MAX : rte_cpu_to_be_16((uint16_t)port);
}

static inline struct ip_view random_packet(uint64_t *seed)
{
	enum ip_family family = random_family(seed);

	return (struct ip_view){
		.proto = random_below(seed, 8) == 0 ? 255 : (uint8_t)(2 + random_below(seed, 4)),
		.src = random_addr(seed, family),
		.dst = random_addr(seed, family),
		.has_ports = random_below(seed, 3) > 0,
		.src_port = random_port(seed),
		.dst_port = random_port(seed),
	};
}

// From a part of 10.0.0.0/8 to a network of 256 addresses.
static inline struct spd_policy simple_policy(unsigned int local_len, uint32_t remote)
{
	const struct acl_port_range all = {0, ACL_PORT_OPAQUE};
	struct ip_addr a = ip_addr_from_v4(rte_cpu_to_be_32(remote));

	return (struct spd_policy){.family = IP_V4,
		.local = prefix_of(ip_addr_from_v4(RTE_BE32(0x0a000000)), local_len),
		.remote = prefix_of(a, 120),
		.proto = PROTO_ANY,
		.local_port = all,
		.remote_port = all};
}

// The same packet in the opposite direction.
static inline struct ip_view reverse_of(const struct ip_view *packet)
{
	struct ip_view back = *packet;

	back.src = packet->dst;
	back.dst = packet->src;
	back.src_port = packet->dst_port;
	back.dst_port = packet->src_port;
	return back;
}
