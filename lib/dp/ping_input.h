// SPDX-License-Identifier: BSD-3-Clause
// Replies to the echo requests of ping_request.h, and ICMP errors about them that arrive by the
// same SAs: from hosts and routers after the peer. Workers.
#pragma once

#include "worker.h"

// Posts EVENT_PING if p, a packet for the gateway that its policy has admitted, is the first reply
// to a request, or an error about one. False: it is neither. The caller keeps p.
bool ping_input(struct worker *w, const struct pkt *p);
