// SPDX-License-Identifier: BSD-3-Clause
// Packets addressed to the gateway: it answers echo requests (RFC 792, RFC 4443), processes errors
// about its ESP packets and passes those about IKE on; and the route of packets that it originates.
// Workers.
#pragma once

#include "worker.h"

// Whether policy admits a packet to an own address. Returns the result of policy_check_inbound(),
// but admits errors about the size of ESP packets, which are checked against the packets sent.
enum drop local_admit(struct worker *w, struct pkt *p);

// Whether the gateway itself answers the first packet of a connection to an own address. Returns
// DROP_NONE or DROP_LOCAL_UNSERVED.
enum drop local_check_new(const struct worker *w, const struct pkt *p);

// Processes the packets of w->local, which are addressed to the gateway, and empties it. Replies
// are put into w->own, packets for the IKE host into w->forward.
void local_burst(struct worker *w);

// Routes the packets of w->own to w->protect or w->forward, or sends them; empties it.
void local_output(struct worker *w);
