// SPDX-License-Identifier: BSD-3-Clause
// Checks the interface of the kernel that a port attaches to, also for features of the kernel that
// disturb the gateway: it merges packets, answers for addresses that it still has, and forwards.
// Control thread, at start and for culvertd -t; needs no privileges.
#pragma once

#include "conf.h"

// Logs missing features, and warns of the rest, each with the place in the configuration and the
// remedy. A port without such an interface is as it should be. Returns 0 or -EIO.
int iface_check(const struct conf *conf, const struct conf_port *c);
