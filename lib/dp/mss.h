// SPDX-License-Identifier: BSD-3-Clause
// TCP MSS clamping (RFC 9293 3.7.1): hosts on both sides of a tunnel keep their segments within its
// MTU even where ICMP errors get lost (RFC 2923 2.1). Workers.
#pragma once

#include "worker.h"

// Lowers the maximum segment size that a TCP segment with SYN announces to the limits of the
// policies by which it was decapsulated and will be encapsulated. If it announces none, none is
// added.
void mss_clamp(struct worker *w, struct pkt *p);
