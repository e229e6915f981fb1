// SPDX-License-Identifier: BSD-3-Clause
// Ports whose device is lost: its interface, its card or the process at its other end was removed.
// Such a port is closed, and opened again when its device is back, while the others continue.
// Control thread.
#pragma once

#include "gateway.h"

// Has devices report that they are removed, or have to be reset. Before the first is opened.
void reopen_listen(void);

// Ports that have no device yet wait for it from now on, and cards may be unplugged. Before workers
// run, after crash_start().
void reopen_start(struct gateway *g);

// Closes and opens ports. Call every 100 ms or so, with the gateway's lock.
void reopen_tick(struct gateway *g);

// Gives the device thread those that workers were about to leave when they ended.
void reopen_stop(struct gateway *g);
