// SPDX-License-Identifier: BSD-3-Clause
// Opens the ports of the configuration. Control thread, at start.
#pragma once

#include "control.h"
#include "port.h"

// Opens all ports, by number, except ports whose peers do not run yet, which the device thread
// opens later. Every failure is logged with its cause and remedy. Returns 0 or -errno; open ports
// then stay open.
int ports_start(struct control *c, struct port ports[]);
