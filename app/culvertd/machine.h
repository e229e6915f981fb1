// SPDX-License-Identifier: BSD-3-Clause
// What this machine has of what a configuration names: CPUs, PCI devices, and the network
// interfaces of the kernel that ports attach to, as they are before DPDK takes them. Control
// thread, at start.
#pragma once

#include <stdbool.h>

#include "conf.h"
#include "port_log.h"

// Logs everything that is missing, with file, line, and what would do instead; as a warning what is
// missing of a member while another one of its port is there, and what the kernel does with the
// interface of a port (iface_share.h). Opens and changes nothing, so it
// needs no privileges. Returns 0 or -EIO.
int machine_check(const struct conf *conf);

// The value of one of the device's arguments, "iface=lan0" for example. False if it has none of
// this name, or its value does not fit.
bool device_arg(char *value, size_t size, const char *device, const char *name);

// Whether the device makes an interface of the kernel's: a TAP, also the one that vhost-net needs.
bool device_makes_interface(const char *device);

// Whether the device is on its bus now; of a virtual one: true. Any thread.
bool device_is_on_bus(const char *device);

// Whether the device is no card that works with physical addresses, as one without an IOMMU does.
// Any thread.
bool device_is_confined(const char *device);

// Whether a network card has a driver of the kernel's that gives it to DPDK; of other devices:
// true. Any thread.
bool device_is_bound(const char *device);

// The device's argument iface= in name, which has room for IFNAMSIZ octets. False if there can be
// no interface of that name.
bool iface_name(char *name, const char *device);

// Whether the interface that such a device attaches to is up and has a link.
bool iface_has_link(const char *device);

// The mtu of that interface; 0: there is none, or the device has none.
unsigned int iface_mtu(const char *device);

// Takes every port's interface or PCI device for this process until it ends, however it ends. Every
// failure is logged with its cause and remedy. Returns 0 or -EIO.
int iface_take(const struct conf *conf);
