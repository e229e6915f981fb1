// SPDX-License-Identifier: BSD-3-Clause
// ESP in UDP (RFC 3948) as it comes in: told from IKE and NAT-keepalives, and watched for peers
// that move. Workers.
#pragma once

#include <netinet/in.h>

#include "worker.h"

// Looks at a UDP datagram, p->esp_off octets behind the IP header.
bool natt_read(const struct worker *w, struct pkt *p);

// Whether a packet is to be treated as ESP because it is a datagram to a port of ESP in UDP, and
// not one of IKE; then p->esp_off and p->udp_port are those of ESP in UDP. What is for somebody
// else is told from that by its address, later.
static inline bool natt_sort(const struct worker *w, struct pkt *p, uint8_t proto)
{
	return unlikely(w->snapshot->udp_ports != NULL) && proto == IPPROTO_UDP && natt_read(w, p);
}

// Whether a datagram to a port of ESP in UDP, too short for ESP, is a NAT-keepalive.
bool natt_is_keepalive(const struct pkt *p);

// Of a packet that came in UDP and is genuine, with this number: tells the control thread if its
// peer speaks from elsewhere than before.
void natt_watch(struct worker *w, const struct pkt *p, uint64_t seq);
