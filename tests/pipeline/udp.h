// SPDX-License-Identifier: BSD-3-Clause
// ESP in UDP (RFC 3948): adds and removes the UDP header, without the code under test.
#pragma once

#include "packet.h"

#define UDP_LEN 8
#define NATT    4500
#define IN_UDP  " udp = { };" // of an SA

// Inserts a UDP header after the header of an IP packet, and over IPv6 its checksum.
struct frame udp_insert(const struct frame *f, uint16_t sport, uint16_t dport);

// Removes it again, from an IPv4 packet, after checking it.
struct frame udp_remove(const struct frame *f, uint16_t sport, uint16_t dport);
