// SPDX-License-Identifier: BSD-3-Clause
// The link addresses of multicast groups whose frames a port receives.
#pragma once

#include "port.h"

// Makes the device receive the frames of n multicast groups, at most LISTENER_GROUPS_MAX, as soon
// as the port is open. What the device cannot do is logged. Control thread.
void port_listen(struct port *p, const struct ip_addr group[], unsigned int n);

// Has the device of a port that was opened again receive those of the port and its VLANs. With the
// gateway's lock.
void port_groups_set(const struct port *p);
