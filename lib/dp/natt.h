// SPDX-License-Identifier: BSD-3-Clause
// ESP in UDP (RFC 3948): told from IKE and NAT-keepalives as it comes in, and watched for peers
// that move. Workers.
#pragma once

#include <netinet/in.h>

#include "worker.h"

// Whether a UDP packet is processed as ESP: it was received in clear, for a port of ESP in UDP, and
// is not IKE. Sets p->udp_port then. A packet for another host is recognized later, by its address.
bool natt_classify(struct worker *w, struct pkt *p);

// Whether what came to a port of ESP in UDP is a NAT-keepalive for one of our SAs.
bool natt_is_keepalive(const struct worker *w, const struct pkt *p);

// That is all there is to be done with it (RFC 3948 2.3). Returns DROP_NONE.
enum drop natt_keepalive_input(struct worker *w, struct pkt *p);

// IKE for one of our addresses: if there is somebody whom it is for, p->nexthop is the way there,
// and it goes on like what is forwarded. It is UDP to port 500 (RFC 7296 2.23), to 4500, or to a
// port of ESP in UDP with the non-ESP marker.
bool natt_is_ike(const struct worker *w, struct pkt *p, const struct flow_pkt *fp);

// Of the first n packets of w->esp, opened: tells the control thread of peers that speak from
// elsewhere than before, as far as their packets are genuine (why).
void natt_peers_check(
	struct worker *w, const struct crypto_op op[], const enum drop why[], uint16_t n);

// Writes the checksums of UDP over IPv6 into packets that have been sealed.
void natt_udp_checksum(const struct burst *b);
