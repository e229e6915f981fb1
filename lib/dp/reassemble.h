// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of fragments (RFC 791 3.2, RFC 8200 4.5), before ports are read or ESP is decrypted.
// Workers.
#pragma once

#include <stdbool.h>

#include "worker.h"

// Takes the fragment in p. True: its datagram is complete, and p->m is that, contiguous. False: the
// fragment is held, handed over, or counted as dropped.
bool reassemble_v4(struct worker *w, struct pkt *p);

// The same for IPv6. upper is the result of ipv6_upper_find() for the fragment.
bool reassemble_v6(struct worker *w, struct pkt *p, const struct ipv6_upper *upper);

// Sends an ICMP error about a first IPv6 fragment that lacks headers (RFC 7112).
void reassemble_report_first(struct worker *w, struct pkt *p);

// Drops fragments that were held too long. Call every millisecond.
void reassembly_expire(struct worker *w);

// Drops all held fragments, when the worker stops.
void reassembly_stop(struct worker *w);
