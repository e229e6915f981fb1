// SPDX-License-Identifier: BSD-3-Clause
// The part of the kernel that the thread of devices changes (device_thread.h), as it alone may: the
// interfaces of hosts, and the gateway's own routes. That thread, unless noted.
#pragma once

#include "host_thread.h"

// The capabilities that it needs with a configuration. Any thread.
uint64_t device_kernel_capabilities(const struct conf *conf);

// The interfaces of hosts from now on; NULL: none. Any thread, while the other one does not serve.
void device_kernel_give(struct host_thread *h);

// The interfaces of hosts differ from the configuration. False: there are none. Any thread.
bool device_kernel_hosts_change(void);

// The routes that are announced are to be changed or compared. Any thread.
void device_kernel_announce(void);

// Makes the changes that have been requested. kept: the capabilities of the thread. current:
// returns the configuration, which stays until this returns.
void device_kernel_serve(uint64_t kept, const struct conf *(*current)(void));
