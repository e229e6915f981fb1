// SPDX-License-Identifier: BSD-3-Clause
// ARP for IPv4 over Ethernet (RFC 826, RFC 5227). Pure functions, any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_arp.h>
#include <rte_ether.h>

#define ARP_FRAME_LEN (sizeof(struct rte_ether_hdr) + sizeof(struct rte_arp_hdr))

// Whether the len octets at arp are a request or reply for IPv4 over Ethernet whose sender has a
// unicast link address. The frame may have another source address: a router with a virtual address
// sends from its own (RFC 5798 8.1.2).
bool arp_check(const struct rte_arp_hdr *arp, uint32_t len);

// Writes a request for the link address of target, a whole frame of ARP_FRAME_LEN octets, to one
// station, or to all if to is NULL. sender == target announces the address (RFC 5227 2.3).
void arp_request_build(uint8_t *frame, const struct rte_ether_addr *mac, rte_be32_t sender,
	rte_be32_t target, const struct rte_ether_addr *to);

// Turns a request into the reply to its sender: target is at mac.
void arp_reply_build(struct rte_ether_hdr *eth, const struct rte_ether_addr *mac);
