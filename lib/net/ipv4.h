// SPDX-License-Identifier: BSD-3-Clause
// IPv4 headers (RFC 791), as received. Workers; pure functions on packet memory.
#pragma once

#include <assert.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_ip.h>

enum ipv4_fault {
	IPV4_GOOD,
	IPV4_SHORT, // no room for a header
	IPV4_MALFORMED,
	IPV4_TRUNCATED, // the packet that the header announces is longer
	IPV4_CHECKSUM,
};

#define IPV4_OFFSET_DF RTE_BE16(RTE_IPV4_HDR_DF_FLAG)
#define IPV4_MIN_MTU   68 // of any link (RFC 791 3.2)

// Folds a one's complement sum of 16-bit words (RFC 1071): its carries are in the upper bits.
static inline uint16_t ipv4_sum_fold(uint32_t sum)
{
	sum += sum << 16 | sum >> 16; // the upper half: both halves, and their carry
	return (uint16_t)(sum >> 16);
}

// Sum of the 32-bit words of a header, which folds to the sum of its 16-bit words. With options it
// is summed in a loop.
uint64_t ipv4_header_words_options(const struct rte_ipv4_hdr *ip);

// The same without options.
static inline uint64_t ipv4_header_words_plain(const struct rte_ipv4_hdr *ip)
{
	uint64_t first, second;
	uint32_t third;

	memcpy(&first, ip, sizeof(first));
	memcpy(&second, (const uint8_t *)ip + 8, sizeof(second));
	memcpy(&third, (const uint8_t *)ip + 16, sizeof(third));
	return (first >> 32) + (first & UINT32_MAX) + (second >> 32) + (second & UINT32_MAX) +
	       third;
}

static inline uint64_t ipv4_header_words(const struct rte_ipv4_hdr *ip)
{
	return likely(rte_ipv4_hdr_len(ip) == sizeof(*ip)) ? ipv4_header_words_plain(ip)
							   : ipv4_header_words_options(ip);
}

// Folds a sum of those words.
static inline uint16_t ipv4_words_fold(uint64_t words)
{
	return ipv4_sum_fold((uint32_t)(words >> 32) + (uint32_t)(words >> 16 & 0xffff) +
			     (uint32_t)(words & 0xffff));
}

// Whether the checksum of a header with these words is right: the one's complement sum is 0xffff
// (RFC 1071). As a carry counts 1 there, that is a sum which is a multiple of 0xffff; it is not 0.
static inline bool ipv4_checksum_is_good(uint64_t words)
{
	return words % 0xffff == 0;
}

// Whether len octets hold a valid IPv4 header and the packet that it announces. The checksum is not
// verified if checksum_known_good.
static inline enum ipv4_fault ipv4_check(
	const struct rte_ipv4_hdr *ip, uint32_t len, bool checksum_known_good)
{
	if (len < sizeof(*ip))
		return IPV4_SHORT;
	if (unlikely(ip->version_ihl != RTE_IPV4_VHL_DEF) &&
		(ip->version_ihl >> 4 != 4 || rte_ipv4_hdr_len(ip) < sizeof(*ip)))
		return IPV4_MALFORMED;
	if (rte_be_to_cpu_16(ip->total_length) < rte_ipv4_hdr_len(ip))
		return IPV4_MALFORMED;
	if (len < rte_be_to_cpu_16(ip->total_length))
		return IPV4_TRUNCATED;
	if (!checksum_known_good && !ipv4_checksum_is_good(ipv4_header_words(ip)))
		return IPV4_CHECKSUM;
	return IPV4_GOOD;
}

#define IPV4_FRAGMENT RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)

static inline bool ipv4_is_fragment(const struct rte_ipv4_hdr *ip)
{
	return (ip->fragment_offset & IPV4_FRAGMENT) != 0;
}

#define IPV4_PLAIN_MIN 24u // octets: a header without options, and four of the upper layer

// Fields in the first eight octets of a header that are the same in all plain packets: version,
// header length, and the fields of fragments.
#define IPV4_PLAIN_MASK ((uint64_t)IPV4_FRAGMENT << 48 | 0xff)

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "the first octet is the lowest");

// Length of a plain packet: not fragmented, without options, of at least IPV4_PLAIN_MIN and at most
// the len available octets. 0: it is not plain. In a plain packet ipv4_check() could only find a
// wrong checksum.
static inline uint32_t ipv4_plain_len(const struct rte_ipv4_hdr *ip, uint32_t len)
{
	uint64_t first;
	uint32_t total;

	if (unlikely(len < IPV4_PLAIN_MIN))
		return 0;
	memcpy(&first, ip, sizeof(first));
	total = rte_be_to_cpu_16(ip->total_length);
	if (unlikely((first & IPV4_PLAIN_MASK) != RTE_IPV4_VHL_DEF) ||
		unlikely(total - IPV4_PLAIN_MIN > len - IPV4_PLAIN_MIN))
		return 0;
	return total;
}

enum ipv4_options {
	IPV4_OPTIONS_GOOD,
	IPV4_OPTIONS_MALFORMED,     // an option's length is missing, below 2, or leaves the header
	IPV4_OPTIONS_SOURCE_ROUTED, // a loose or strict source route, even if it is at its end
};

// Checks the structure of the options (RFC 791 3.1) of a checked header that has some. Of several
// faults it returns the first in the header.
enum ipv4_options ipv4_options_check_each(const struct rte_ipv4_hdr *ip);

// The same of any checked header.
static inline enum ipv4_options ipv4_options_check(const struct rte_ipv4_hdr *ip)
{
	return likely(rte_ipv4_hdr_len(ip) == sizeof(*ip)) ? IPV4_OPTIONS_GOOD
							   : ipv4_options_check_each(ip);
}

// Copies a header with options as that of a later fragment: with those options alone that are to be
// copied into each (RFC 791 3.1). Returns its length. ipv4_header_copy_later() calls it.
uint32_t ipv4_header_copy_later_options(struct rte_ipv4_hdr *to, const struct rte_ipv4_hdr *ip);

// The same of any header, whose options ipv4_options_check() has passed. The checksum is void.
static inline uint32_t ipv4_header_copy_later(
	struct rte_ipv4_hdr *to, const struct rte_ipv4_hdr *ip)
{
	if (unlikely(rte_ipv4_hdr_len(ip) > sizeof(*ip)))
		return ipv4_header_copy_later_options(to, ip);
	memcpy(to, ip, sizeof(*ip));
	return sizeof(*ip);
}

// Whether one host can have the address: not 0/8, 127/8, multicast or 255.255.255.255 (RFC 1122
// 3.2.1.3). Class E, 240/4, is an ordinary network, as in Linux.
static inline bool ipv4_is_host_address(rte_be32_t addr)
{
	uint8_t first = (uint8_t)(rte_be_to_cpu_32(addr) >> 24);

	if (likely(first != 0 && first < 224))
		return first != 127;
	return first >= 240 && addr != UINT32_MAX;
}

// Lowers the time to live, which must not be 0, in the word of a header that has it, the protocol
// and the checksum, and updates that (RFC 1624): it grows by 1, as both TTL and the part of the
// checksum are the first octet of 16 bits. Adding 0xffff does both: it takes 1 from the lower half,
// and the carry adds 1 to the upper. After 0xfffe comes 0, which is the same in one's complement;
// 0xffff is never written.
static inline uint32_t ipv4_ttl_word_decrement(uint32_t word)
{
	if (unlikely(word >= 0xfffe0000))
		word += 0x10000;
	return word + 0xffff;
}

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "the checksum is the word's upper half");

// Lowers the time to live, which must not be 0, by one and updates the checksum.
static inline void ipv4_ttl_decrement(struct rte_ipv4_hdr *ip)
{
	uint8_t *at = (uint8_t *)ip + offsetof(struct rte_ipv4_hdr, time_to_live);
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	word = ipv4_ttl_word_decrement(word);
	memcpy(at, &word, sizeof(word));
}

static inline void ipv4_checksum_set(struct rte_ipv4_hdr *ip)
{
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~ipv4_words_fold(ipv4_header_words(ip));
}

// Bits of the first eight octets of a header that all fragments of a datagram have in common: DF,
// but not the rest of its field, nor the length.
#define IPV4_FRONT_SHARED ((uint64_t)IPV4_OFFSET_DF << 48 | 0xffff0000ffff)

// The first eight octets of a header, with another length and, DF aside, field of fragments.
static inline uint64_t ipv4_front(const struct rte_ipv4_hdr *ip, uint16_t len, rte_be16_t field)
{
	uint64_t front;

	memcpy(&front, ip, sizeof(front));
	return (front & IPV4_FRONT_SHARED) | (uint64_t)rte_cpu_to_be_16(len) << 16 |
	       (uint64_t)field << 48;
}

// Writes a header: these first octets, and the rest of another one, or of its own; options are
// there. Sets the checksum. It is written as words, so that no load waits for stores of parts.
static inline void ipv4_header_write(
	struct rte_ipv4_hdr *to, uint64_t front, const struct rte_ipv4_hdr *from)
{
	uint64_t middle, sum;
	uint32_t back;

	memcpy(&middle, (const uint8_t *)from + 8, sizeof(middle));
	memcpy(&back, (const uint8_t *)from + 16, sizeof(back));
	middle &= 0xffffffff0000ffff; // without the checksum
	sum = (front >> 32) + (front & UINT32_MAX) + (middle >> 32) + (middle & UINT32_MAX) + back;
	middle |= (uint64_t)(uint16_t)~ipv4_words_fold(sum) << 16;
	memcpy(to, &front, sizeof(front));
	memcpy((uint8_t *)to + 8, &middle, sizeof(middle));
	memcpy((uint8_t *)to + 16, &back, sizeof(back));
	if (unlikely(rte_ipv4_hdr_len(to) > sizeof(*to)))
		ipv4_checksum_set(to);
}

static inline bool ip_proto_has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP ||
	       proto == IPPROTO_DCCP || proto == IPPROTO_UDPLITE;
}
