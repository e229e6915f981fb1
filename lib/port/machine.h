// SPDX-License-Identifier: BSD-3-Clause
// Resources of this machine that a configuration names: CPUs, PCI devices, and the network
// interfaces of the kernel that ports attach to, as they are before DPDK takes them. Control
// thread, at start, unless noted.
#pragma once

#include "conf.h"

// Logs everything that is missing, with file, line and alternatives; as a warning a missing member
// of a port that has others, and features of the kernel on the interface of a port (iface_check.h).
// Opens and changes nothing, so it needs no privileges. Returns 0 or -EIO.
int machine_check(const struct conf *conf);

// The same of one port alone. The thread that opens its device.
int machine_port_check(const struct conf *conf, const struct conf_port *c);

// Takes every port's interface or PCI device for this process until it ends, however it ends. Every
// failure is logged with its cause and remedy. Returns 0 or -EIO.
int devices_take(const struct conf *conf);

// The same of the port with that number alone; the opposite for one that has no members and is
// closed. The thread that opens and closes its device.
int port_devices_take(const struct conf *conf, unsigned int port);
void port_device_release(unsigned int port);
