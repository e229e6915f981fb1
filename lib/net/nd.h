// SPDX-License-Identifier: BSD-3-Clause
// Neighbour discovery over Ethernet (RFC 4861, RFC 2464) and duplicate address detection on the
// wire (RFC 4862 5.4). Pure functions, any thread. lib/neigh learns from it.
//
// This gateway is a router and does not learn from others: router advertisements and redirects are
// read as ND_NOT_OURS (RFC 4861 6.2.7, 8.1), and it does not advertise itself (6.2.1, the default).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "icmp.h"

enum nd_fault {
	ND_GOOD,
	ND_NOT_OURS,   // not neighbour discovery, or a message that routers ignore
	ND_FORWARDED,  // its hop limit shows that it is not from this link
	ND_FRAGMENTED, // RFC 6980 5
	ND_CHECKSUM,
	ND_MALFORMED,
};

enum nd_kind { ND_SOLICITATION, ND_ADVERTISEMENT, ND_ROUTER_SOLICITATION };

struct nd_message {
	enum nd_kind kind;
	// Sender of a solicitation. none (::): it checks the target as its own address, or, in a
	// router solicitation, has no address yet.
	struct ip_addr source;
	struct ip_addr target; // not of a router solicitation
	bool has_mac;
	struct rte_ether_addr mac;        // of source in solicitations, of target in advertisements
	bool router, solicited, override; // flags of an advertisement
};

// Reads a packet that ipv6_check() has passed: a solicitation or advertisement that is valid by RFC
// 4861 6.1.1, 7.1.1 and 7.1.2. *m is valid if it is ND_GOOD.
enum nd_fault nd_read(struct nd_message *m, const struct rte_ipv6_hdr *ip);

// ff02::1:ffXX:XXXX, the group to which solicitations for an address are sent (RFC 4291 2.7.1).
struct ip_addr nd_solicited_node(const struct ip_addr *addr);

// The Ethernet address of a multicast group (RFC 2464 7).
struct rte_ether_addr nd_group_mac(const struct ip_addr *group);

// The link-local address that follows from a link address (RFC 4291 2.5.6, appendix A).
struct ip_addr nd_link_local(const struct rte_ether_addr *mac);

#define ND_FRAME_LEN 86 // with a link address

// Writes a solicitation for target from the own address sender, a whole frame, to out, which holds
// ND_FRAME_LEN octets; to one station, or to all that may have it if to is NULL. sender none (::):
// detects duplicates (RFC 4862 5.4.2). Returns its length.
uint16_t nd_solicitation_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct ip_addr *sender, const struct ip_addr *target,
	const struct rte_ether_addr *to);

// Writes the whole frame of an advertisement to the station from, which answers its solicitation:
// target is at mac. Returns its length.
uint16_t nd_answer_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct nd_message *asked, const struct rte_ether_addr *from);

// The same for an anycast address as the target: the first answer counts (RFC 4861 7.2.7). own is
// the gateway's address. asked has a source.
uint16_t nd_anycast_answer_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct ip_addr *own, const struct nd_message *asked,
	const struct rte_ether_addr *from);

// Writes a whole frame that announces to all stations that addr is at mac (RFC 4861 7.2.6). Returns
// its length.
uint16_t nd_announcement_build(
	uint8_t *out, const struct rte_ether_addr *mac, const struct ip_addr *addr);
