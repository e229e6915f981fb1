// SPDX-License-Identifier: BSD-3-Clause
// The peer of a tunnel may be a pair of gateways, of which another one has taken over after a
// failure (numbers.h). That one refuses as many packets as the former may have accepted
// unreported, and its own numbers begin in another block: so they leap. This gateway then leaves
// out numbers as well, so that its next packet is accepted, as RFC 6311 does with a message of
// IKE. Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Looks for that in the SAs of a policy, and if this gateway itself has taken over, sends a dummy
// (RFC 4303 2.6), from which the peer sees it before there is traffic. Call it every 100 ms.
void peer_takeover_tick(struct control *c, const struct spd_policy *p, uint64_t now_ms);
