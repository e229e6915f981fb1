// SPDX-License-Identifier: BSD-3-Clause
// ESP packets that arrive before their inbound SA: a peer may send in a new SA as soon as it has
// answered, when the IKE daemon here has not added the SA yet (RFC 7296 2.8). The daemon reports
// the SPIs that it has given out; their packets are held, a limited number for a limited time, and
// processed when the SA is there. Only packets that would be dropped otherwise get here. Workers.
#pragma once

#include "worker.h"

// Holds an ESP packet that is addressed to the gateway, and whose SPI no SA has. Returns DROP_NONE,
// or DROP_NO_SA: no SA is to come, or there is no room.
enum drop early_hold(struct worker *w, struct pkt *p);

// Whether a packet is held any longer. If its SA is there by now, adds it to w->esp, which holds up
// to room packets; drops it if its time is over.
bool early_still_held(struct worker *w, const struct held *h, uint16_t room);
