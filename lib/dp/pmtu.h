// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery for ESP packets (RFC 1191, RFC 8201, RFC 4301 8.2): validates ICMP errors
// about them (RFC 8899 4.6.1) and posts them to the control thread, which probes whether they are
// true. Workers.
#pragma once

#include "worker.h"

// Whether a packet is "fragmentation needed" or "packet too big".
bool pmtu_is_error(const struct pkt *p);

// Whether p is such an error and quotes an ESP packet of an SA. Its destination may be a host that
// is protected in transport mode, which has not sent that packet itself.
bool pmtu_quotes_sa(const struct worker *w, const struct pkt *p);

// Validates and posts such an error. Returns DROP_NONE; DROP_LOCAL_UNSERVED if discovery is off, or
// the error was not received in clear on an unprotected port; DROP_PMTU_IMPLAUSIBLE if it quotes no
// recent ESP packet of an SA, or one that fits the MTU it names, or names an MTU below the minimum
// (RFC 4301 8.2.1, RFC 5927 7, RFC 8899 4.6.1).
enum drop pmtu_learn(struct worker *w, const struct pkt *p);

// The same, and consumes the packet unless it returns a reason to drop it.
enum drop pmtu_input(struct worker *w, struct pkt *p);
