// SPDX-License-Identifier: BSD-3-Clause
// A gateway with addresses inside of two tunnels that routes lead into; the peers are 192.0.2.2 and
// 192.0.2.3, the stations of their sites have 10.2.0.0/16 and 10.3.0.0/16:
//
//   10.1.0.0/24 --[LAN] gateway [WAN]-- "b": 169.254.10.1/30, fd00:b::1/64
//                                   \-- "c": 169.254.20.1/30, fe80::c/64
//
// A policy lets everything else out in clear.
#pragma once

#include "peer.h"

// b: further settings of tunnel "b"; more: further settings.
struct gateway *inside_gateway(const char *b, const char *more);

// The configuration with further settings of both tunnels.
struct conf *inside_conf(const char *b, const char *c);

// An IP packet out of the SA.
struct frame inside_out_of(
	struct gateway *g, const char *sa, unsigned int seq, const uint8_t *packet, uint16_t len);

// The last pass sent one packet, through the SA: the inner one.
uint16_t inside_sent(struct gateway *g, const char *sa, uint8_t *inner);
