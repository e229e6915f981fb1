// SPDX-License-Identifier: BSD-3-Clause
// Whether a port is connected, and whether its device is still there. Control thread, unless noted.
#pragma once

#include "port.h"

// Whether the port is connected.
bool port_has_link(const struct port *p);

// Whether the device of an open port is to be closed: it has been removed, or the process that it
// connected to has ended. Call every 100 ms or so.
bool port_is_lost(struct port *p);

// Logs changes of an open port: its interface has a smaller mtu than the port, or its driver may
// not connect to the socket of its peer again. Call every 100 ms or so.
void port_check(struct port *p);

// Whether opening the device of a port makes sense, or that of one of its members. Any thread.
bool port_is_present(const struct conf *conf, const struct conf_port *c);
