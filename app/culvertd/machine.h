// SPDX-License-Identifier: BSD-3-Clause
// Whether this machine has what a configuration names: CPUs, interfaces of the kernel, PCI devices.
// Nothing is opened or changed, so it needs no privileges. Control thread, before the start.
#pragma once

#include "conf.h"

// Logs everything that is missing, with file, line, and what would do instead. Returns 0 or -EIO.
int machine_check(const struct conf *conf);
