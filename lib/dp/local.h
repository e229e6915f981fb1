// SPDX-License-Identifier: BSD-3-Clause
// What the gateway says itself: answers to pings, and ICMP errors (RFC 792, RFC 1812 4.3). Workers.
#pragma once

#include "icmp.h"
#include "worker.h"

// Serves a packet for one of our addresses. The answer, if any, goes to w->own.
enum drop local_input(struct worker *w, struct pkt *p);

// Tells the sender of p what went wrong, if that is allowed (RFC 1812 4.3.2.7) and the rate
// permits. p itself is left as it is, for the caller to drop. The message goes to w->own.
void local_error(struct worker *w, const struct pkt *p, struct icmp_error error);

// The same with a TCP reset (RFC 9293 3.5.2), about a whole TCP packet.
void local_reset(struct worker *w, const struct pkt *p);

// Sorts w->own by how it goes out: w->protect or w->forward.
void local_output(struct worker *w);
