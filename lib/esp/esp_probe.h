// SPDX-License-Identifier: BSD-3-Clause
// ESP packets that the control thread itself makes, with a crypto context of its own after those of
// the workers: any packet, and probes for the path MTU (RFC 8899 4.1), which every peer discards
// (RFC 4303 2.6). Control thread.
#pragma once

#include <rte_mbuf.h>

#include "sa.h"

// Encapsulates the IP packet or dummy (tfc.h) in m, by an SA whose peer is known. False: the SA
// must not send; the content of m is lost, and the caller still owns it.
bool esp_own_seal(struct sa_out *sa, struct rte_mbuf *m);

// Octets of the largest packet of the gateway's own, with an IP header and no options, whose ESP
// packet has at most size octets.
uint16_t esp_own_room(const struct sa_out *sa, uint16_t size);

// Sets "don't fragment" in a sealed packet, and over IPv4 its identification.
void esp_own_keep_whole(struct rte_mbuf *m, uint16_t id);

// Makes a probe in m, which is empty: the largest ESP packet of at most size octets, with "don't
// fragment" and over IPv4 this identification. False as above.
bool esp_probe_make(struct sa_out *sa, struct rte_mbuf *m, uint16_t size, uint16_t id);
