// SPDX-License-Identifier: BSD-3-Clause
// Has hosts on both sides of a tunnel keep TCP segments as small as its policy wants (RFC 9293
// 3.7.1), where ICMP errors that say so get lost (RFC 2923 2.1). Workers.
#pragma once

#include "worker.h"

// Of a TCP segment with SYN, when its way is known: lowers the maximum segment size that it
// announces to what the policy says by which it came out of a tunnel, and that by which it goes
// into one. If it announces none, none is added.
void mss_clamp(struct worker *w, struct pkt *p);
