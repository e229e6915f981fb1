// SPDX-License-Identifier: BSD-3-Clause
// Addresses that other programs give the kernel's interfaces behind ports, as VRRP daemons do: the
// gateway has them as own ones of the port as long as the kernel has them. An address of a macvlan
// interface on top is at the link address of that (RFC 5798 7.3). Control thread.
#pragma once

#include "control.h"

// Begins to follow them, if any port has a host. Before privileges are dropped, and after the
// interfaces were made. Returns 0, or -EIO after a message.
int host_guests_start(const struct control *c);

// Applies changes. Call every 100 ms or so, with the gateway's lock. Returns whether the kernel's
// interfaces lack something that the gateway has given them (host_iface_lacks()).
bool host_guests_tick(struct control *c);
