// SPDX-License-Identifier: BSD-3-Clause
// Hides the frames of an interface from the kernel, which receives those of packet sockets as well:
// once it has the gateway's addresses, by a host behind any port, it would accept packets for them
// past all policies. A chain of nftables drops the frames at the interface's ingress, after the
// packet sockets. Its table belongs to a socket of this process: no other process can change it,
// and it disappears with the process, however that ends.
#pragma once

#include "conf.h"

// Hides the interface that the device of a port attaches to if the configuration has a host; also
// again, once the interface was made again. Needs CAP_NET_ADMIN. Returns 0, or -EIO after a
// message. Of one thread at a time.
int iface_hide(const struct conf *conf, const struct conf_port *c);

// Gives the kernel the frames again, when the port of that number is removed. The same thread.
void iface_show(unsigned int port);
