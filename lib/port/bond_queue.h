// SPDX-License-Identifier: BSD-3-Clause
// Work of workers for ports with members besides receiving and sending (bond.h).
#pragma once

#include "port.h"
#include "worker.h"

// Whether a port has members that share the work by LACP. Control thread.
static inline bool port_has_members(const struct port *p, enum conf_bond bond)
{
	return p->bond != NULL && p->conf->bond == bond;
}

// Drops a burst of frames that inactive members have received on a queue of an open port, as
// DROP_MEMBER_INACTIVE. Otherwise it would wait until such a member is active, maybe hours later.
// Not with LACP. The worker that has the queue.
void bond_discard_inactive(const struct port *p, uint16_t number, uint16_t queue, struct worker *w);

// Lets the driver send the frames of LACP that are due on those of n ports that are open. It does
// so only when asked to send frames, and needs that ten times a second. The worker that has TX
// queue 0.
void bonds_send_lacp(const struct port ports[], const uint16_t number[], unsigned int n);
