// SPDX-License-Identifier: BSD-3-Clause
// IP addresses and prefixes of both families in one form: 16 octets in network order, IPv4 as
// ::ffff:a.b.c.d (RFC 4291 2.5.5.2). One comparison, one hash and one table serve both families.
// Pure functions, any thread.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

struct ip_addr {
	union {
		uint8_t b[16];
		rte_be32_t w[4];
		uint64_t q[2]; // for comparing and hashing only: neither byte order
	};
};

// len counts all 128 bits: 10.1.0.0/24 has len 120. Bits after len are zero.
struct ip_prefix {
	struct ip_addr addr;
	uint8_t len;
};

// Families that an object applies to; the prefix ::/0 alone does not determine one.
enum ip_family { IP_ANY, IP_V4, IP_V6 };

#define IP_ADDR_STRLEN   46 // longest textual IPv6 address and its NUL
#define IP_PREFIX_STRLEN 50
#define IP_V4_BITS       96 // bits in front of a mapped IPv4 address

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "the first octet is the lowest");

// Made of whole words, so that no load of one waits for stores of its parts.
static inline struct ip_addr ip_addr_from_v4(rte_be32_t v4)
{
	return (struct ip_addr){.q = {0, (uint64_t)v4 << 32 | RTE_BE32(0xffff)}};
}

static inline bool ip_addr_is_v4(const struct ip_addr *a)
{
	return a->q[0] == 0 && a->w[2] == RTE_BE32(0xffff);
}

// The IPv4 address of an address for which ip_addr_is_v4() holds.
static inline rte_be32_t ip_addr_v4(const struct ip_addr *a)
{
	return a->w[3];
}

static inline bool ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return a->q[0] == b->q[0] && a->q[1] == b->q[1];
}

// The unspecified address :: stands for "none". Not to be confused with 0.0.0.0.
static inline bool ip_addr_is_none(const struct ip_addr *a)
{
	return (a->q[0] | a->q[1]) == 0;
}

static inline enum ip_family ip_addr_family(const struct ip_addr *a)
{
	return ip_addr_is_v4(a) ? IP_V4 : IP_V6;
}

// fe80::/10: valid on one link only (RFC 4291 2.5.6).
static inline bool ip_addr_is_link_local(const struct ip_addr *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

// Reads "192.0.2.1" or "2001:db8::1". Returns 0, or -EINVAL and leaves *a alone.
int ip_addr_parse(struct ip_addr *a, const char *text);

// Writes the usual textual form to buf, which holds IP_ADDR_STRLEN octets. Returns buf.
const char *ip_addr_format(char *buf, const struct ip_addr *a);

// Reads "10.1.0.0/24", "2001:db8::/32", or a bare address as its host prefix. Returns 0, -EINVAL
// (not a prefix; *p left alone), or -ERANGE when bits after the length are set (*p holds the prefix
// with those bits cleared, for the message).
int ip_prefix_parse(struct ip_prefix *p, const char *text);

// Like ip_prefix_parse() for the address of an interface: bits after the length are kept in *addr
// and cleared in *net. Returns 0 or -EINVAL.
int ip_interface_parse(struct ip_addr *addr, struct ip_prefix *net, const char *text);

// Writes "10.1.0.0/24" to buf, which holds IP_PREFIX_STRLEN octets. Returns buf.
const char *ip_prefix_format(char *buf, const struct ip_prefix *p);

// The order by address, then by length: below 0, 0 or above.
int ip_prefix_compare(const struct ip_prefix *a, const struct ip_prefix *b);

static inline bool ip_prefix_contains(const struct ip_prefix *p, const struct ip_addr *a)
{
	uint64_t high = rte_be_to_cpu_64(a->q[0] ^ p->addr.q[0]);
	uint64_t low = rte_be_to_cpu_64(a->q[1] ^ p->addr.q[1]);

	if (p->len <= 64)
		return p->len == 0 || high >> (64 - p->len) == 0;
	return high == 0 && low >> (128 - p->len) == 0;
}

// Whether a has all of b, which is of the same family.
bool ip_prefix_covers(const struct ip_prefix *a, const struct ip_prefix *b);
bool ip_prefix_overlaps(const struct ip_prefix *a, const struct ip_prefix *b);
