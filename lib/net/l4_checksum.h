// SPDX-License-Identifier: BSD-3-Clause
// Checksums of upper layers that cover IP addresses as well. Workers; pure functions on packet
// memory.
#pragma once

// Recomputes the checksum of TCP, UDP or ICMPv6 for the addresses that the packet now has (RFC 3948
// 3.1.2). ip is a whole IPv4 or IPv6 packet whose header is checked; what is no such protocol,
// or too short for it, stays as it is, and so does a UDP checksum of 0, which says that there is
// none.
void l4_checksum_recompute(void *ip);
