// SPDX-License-Identifier: BSD-3-Clause
// Keeps a device for one process: by an abstract socket, which only one process in a network
// namespace can have, and which the kernel frees when that process ends. Any thread.
#pragma once

#define DEVICE_LOCK_PCI       "PCI device"
#define DEVICE_LOCK_INTERFACE "interface"

// Locks a device of that kind and name until the file descriptor that it returns is closed. Or
// returns -errno; -EADDRINUSE: another process has it.
int device_lock(const char *kind, const char *name);
