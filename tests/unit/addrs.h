// SPDX-License-Identifier: BSD-3-Clause
// Addresses and prefixes of text; and random ones of both families, for tests against a model: from
// small sets, so that they overlap, hide each other and match.
#pragma once

#include "addr.h"
#include "test.h"

static inline struct ip_addr addr_of(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(&a, text), 0);
	return a;
}

static inline struct ip_prefix net_of(const char *text)
{
	struct ip_prefix p;

	assert_int_equal(ip_prefix_parse(&p, text), 0);
	return p;
}

// An address of IPv4 or IPv6: 10.0.0.0 or 2001:db8:: with a few bits changed.
static inline struct ip_addr random_addr(uint64_t *seed, enum ip_family family)
{
	struct ip_addr a = {.b = {0x20, 0x01, 0x0d, 0xb8}};

	if (family == IP_V4)
		return ip_addr_from_v4(
			rte_cpu_to_be_32(0x0a000000 | (uint32_t)(random_u64(seed) & 0x03030303)));
	for (unsigned int n = random_below(seed, 4); n > 0; n--) {
		unsigned int bit = random_below(seed, 8) == 0 ? random_below(seed, 128)
							      : 32 + 11 * random_below(seed, 9);

		a.b[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	}
	return a;
}

// The first len bits of an address.
static inline struct ip_prefix prefix_of(struct ip_addr a, unsigned int len)
{
	struct ip_prefix p = {.addr = a, .len = (uint8_t)len};

	for (unsigned int bit = len; bit < 128; bit++)
		p.addr.b[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	return p;
}

// A prefix of the whole family, of one host, or any length between.
static inline struct ip_prefix random_prefix(uint64_t *seed, enum ip_family family)
{
	static const uint8_t lens_v6[] = {0, 1, 16, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128};
	static const uint8_t lens_v4[] = {0, 1, 8, 9, 16, 23, 24, 31, 32};
	struct ip_addr a = random_addr(seed, family);

	if (family == IP_V4)
		return prefix_of(a, IP_V4_BITS + lens_v4[random_below(seed, COUNT_OF(lens_v4))]);
	return prefix_of(a, lens_v6[random_below(seed, COUNT_OF(lens_v6))]);
}

static inline enum ip_family random_family(uint64_t *seed)
{
	return random_below(seed, 2) == 0 ? IP_V4 : IP_V6;
}

// Whether a prefix covers an address, among those of one family or both.
static inline bool naive_prefix(
	const struct ip_prefix *p, enum ip_family family, const struct ip_addr *a)
{
	return (family == IP_ANY || family == ip_addr_family(a)) && ip_prefix_contains(p, a);
}
