// SPDX-License-Identifier: BSD-3-Clause
// The link addresses whose frames a port receives beside its own: those of multicast groups, and of
// guests (struct conf_guests).
#pragma once

#include "port.h"

// Sets the n multicast groups of a port, at most LISTENER_GROUPS_MAX. port_groups_set() makes the
// device receive their frames. Control thread.
void port_listen(struct port *p, const struct ip_addr group[], unsigned int n);

// Makes the device of a port receive the frames of the port and its VLANs. A feature that the
// device lacks is logged. With the gateway's lock.
void port_groups_set(struct port *p);
