// SPDX-License-Identifier: BSD-3-Clause
// Stages of IP forwarding (RFC 1812 5.2, 5.3) that packets in clear and packets to be protected
// share: time to live, size, route. Workers.
#pragma once

#include "worker.h"

// Lowers the time to live, unless the packet is our own. DROP_TTL tells the sender.
enum drop forward_ttl(struct worker *w, struct pkt *p);

// Demands a way to the destination. DROP_NO_ROUTE tells the sender.
enum drop forward_route(struct worker *w, struct pkt *p);

// Makes every packet of the burst fit its way: fragments what may be fragmented, in place of the
// packet or at the end of the burst. Others are dropped (DROP_TOO_BIG) and their sender is told
// the size that fits, less what ESP adds.
void forward_fit(struct worker *w, struct burst *b);
