// SPDX-License-Identifier: BSD-3-Clause
// Checksums of upper layers that cover IP addresses as well. Workers; pure functions on packet
// memory.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Recomputes the checksum of TCP, UDP or ICMPv6 for the addresses that the packet now has (RFC 3948
// 3.1.2). ip is a whole IPv4 or IPv6 packet whose header is checked; other protocols, truncated
// headers, and a UDP checksum of 0, which means none, are not changed.
void l4_checksum_recompute(void *ip);

// Completes the checksum of TCP or UDP that its sender has left to a network card: the field has
// the sum of the pseudo header alone, as Linux and virtio leave it (VIRTIO_NET_HDR_F_NEEDS_CSUM).
// ip is an IP packet of at most len octets, not checked yet. False: there is nothing to complete,
// and the packet is unchanged.
bool l4_checksum_complete(void *ip, uint32_t len);
