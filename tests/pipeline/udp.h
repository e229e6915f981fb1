// SPDX-License-Identifier: BSD-3-Clause
// ESP in UDP (RFC 3948), made of ESP and made ESP again without the code that is tested.
#pragma once

#include "packet.h"

#define UDP_LEN 8
#define NATT    4500
#define IN_UDP  " udp = { };" // of an SA

// Puts a UDP header behind the header of an IP packet, and over IPv6 its checksum.
struct frame into_udp(const struct frame *f, uint16_t sport, uint16_t dport);

// Takes it away again, of an IPv4 packet, after a look at it.
struct frame out_of_udp(const struct frame *f, uint16_t sport, uint16_t dport);
