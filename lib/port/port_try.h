// SPDX-License-Identifier: BSD-3-Clause
// Opens the device of a port that a configuration adds, before that replaces the running one, and
// closes that of one which it removes. The device thread, unless noted.
#pragma once

#include "port.h"

// Whether all devices of a port connect to processes that do not run yet; logs the processes that
// it waits for. The port is then opened when one of them is there. Any thread.
bool port_waits_for_peer(const struct conf *conf, const struct conf_port *c);

// Takes the interface of the port for this process, checks it, and opens the device; makes of p the
// port, as port_open() does. Every failure is logged with its cause and the remedy, and
// gives everything back. Returns 0 or -EIO.
int port_try(
	struct port *p, const struct conf *conf, unsigned int number, struct rte_mempool *pool);

// Closes the device of a port that is removed, NULL: it is not open; and gives its interface back.
void port_drop(const struct port *p, unsigned int number);
