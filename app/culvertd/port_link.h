// SPDX-License-Identifier: BSD-3-Clause
// Whether a port is connected, and whether its device is still there. Control thread, unless said
// otherwise.
#pragma once

#include "port.h"

// Whether the port is connected.
bool port_has_link(const struct port *p);

// Whether the device of an open port is to be closed: it has been removed, or the process that it
// connected to has ended. Call every 100 ms or so.
bool port_is_lost(struct port *p);

// Whether a device that is lost is opened again. Not if the kernel asks for CAP_SYS_ADMIN, to load
// the program of AF_XDP, which would be all that an attacker needs: then it is closed until the
// next start. Any thread.
bool device_returns(const char *device);

// Whether opening the device makes sense: it is there, or the process that it connects to is.
// Any thread.
bool device_is_present(const char *device);
