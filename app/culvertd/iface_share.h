// SPDX-License-Identifier: BSD-3-Clause
// What the kernel does beside the gateway with the interface that a port attaches to: it merges
// packets, answers for addresses that it has left, and forwards. Control thread, at start and for
// culvertd -t; needs no privileges.
#pragma once

#include "conf.h"

// Warns, with the place in the configuration and the remedy, of each. name: that of the interface.
void iface_share_warn(const struct conf *conf, const struct conf_port *c, const char *name);
