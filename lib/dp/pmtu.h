// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery for ESP packets (RFC 1191, RFC 8201, RFC 4301 8.2): validates ICMP errors
// about them (RFC 8899 4.6.1) and posts them to the control thread, which probes whether they are
// true. Workers.
#pragma once

#include "worker.h"

// Whether a packet is "fragmentation needed" or "packet too big".
bool pmtu_is_error(const struct pkt *p);

// Whether it is for a host that we protect in transport mode: such an error about a packet which
// the host does not know, because one of our SAs has made it of the host's.
bool pmtu_quotes_sa(const struct worker *w, const struct pkt *p);

// Takes such a packet, for one of our addresses or such a host. Returns DROP_NONE;
// DROP_LOCAL_UNSERVED if nothing is learnt from what comes this way; DROP_PMTU_IMPLAUSIBLE if it
// quotes no ESP packet that an SA sent in the last seconds, or one that fits the MTU it names, or
// names a smaller MTU than may be (RFC 4301 8.2.1, RFC 5927 7, RFC 8899 4.6.1).
enum drop pmtu_input(struct worker *w, struct pkt *p);
