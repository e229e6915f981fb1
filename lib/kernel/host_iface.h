// SPDX-License-Identifier: BSD-3-Clause
// The kernel's interface behind a port (struct conf_port, host): a TAP device with the port's link
// address, MTU, addresses and routes. It disappears with the daemon. The kernel resolves no
// neighbours there (IFF_NOARP), and learns nothing from the link: that is the gateway's task.
// Control thread, before privileges are dropped, unless noted.
#pragma once

#include <stdbool.h>

#include "conf.h"
#include "snapshot.h"

// Looks for interfaces that have the names of those to be made already. is_running: a daemon of
// this instance is running, whose own they may be. Returns 0 or, after a message for each, -EIO.
int host_iface_check(const struct conf *conf, bool is_running);

// Makes the interface of a port, up and without a carrier. Returns a file descriptor that reads and
// writes its frames without waiting; or -EIO after a message.
int host_iface_open(unsigned int port, const struct conf_port *c, const struct snapshot_port *p);

// Gives the interface the addresses that the port has now, and removes those given before. Returns
// 0; or -EIO after a message for each that the kernel refuses. Needs CAP_NET_ADMIN. Also the device
// thread, after the start.
int host_iface_addrs(unsigned int port, const struct conf_port *c, const struct snapshot_port *p);

// Whether the gateway has given the interface the address: it is no guest (struct conf_guests). Any
// thread.
bool host_iface_gave(unsigned int port, const struct ip_addr *addr);

// Installs kernel routes via host interfaces (host_route.h), and removes those of the previous
// configuration. High metric: other routes win. A route that the kernel refuses is logged. Needs
// CAP_NET_ADMIN. Also the device thread, after that.
void host_iface_routes(const struct conf *conf);

// Sets the carrier to whether the port has a link. fd is that of host_iface_open(). Any time.
void host_iface_carrier(int fd, bool up);
