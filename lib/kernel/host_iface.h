// SPDX-License-Identifier: BSD-3-Clause
// The kernel's interface of a host: behind a port (struct conf_port, host) a TAP device with the
// port's link address, of a tunnel (struct conf_tunnel, host) a TUN device without one; with the
// MTU, the addresses and the routes. It disappears with the daemon. The kernel resolves no
// neighbours there (IFF_NOARP), and learns nothing from the link: that is the gateway's task.
// Control thread before privileges are dropped, then the device thread, unless noted. A host has
// the number i of IFACE_HOST(i).
#pragma once

#include <stdbool.h>

#include "conf.h"
#include "snapshot.h"

// As it is to be. Texts are the configuration's.
struct host_iface {
	struct conf_where where;  // of the port or tunnel, for messages
	const char *kind, *owner; // "port" or "tunnel", and its name
	const char *name;         // of the interface; NULL: there is to be none
	bool is_tunnel, is_down;  // is_down: of a tunnel that cannot send
	bool has_ipv6;
	bool asks;                 // routers and DHCP servers for its addresses
	uint32_t since;            // see struct snapshot, host_since
	struct rte_ether_addr mac; // of a port
	uint16_t mtu; // of a tunnel the largest packet that its SA sends in one piece; 0: there is
		      // none
	unsigned int n;
	struct ip_addr addr[PORT_ADDRS_MAX];
	uint8_t len[PORT_ADDRS_MAX]; // of their networks' prefixes, in bits of their families
};

// The interface of port i or, from the number of ports on, of a tunnel, as far as the configuration
// alone tells. Any thread.
struct host_iface host_iface_of(const struct conf *conf, unsigned int i);

// The interface of a host. Any thread.
struct host_iface host_iface_wanted(
	const struct conf *conf, const struct snapshot *s, unsigned int host);

// Looks for interfaces that have the names of those to be made already. is_running: a daemon of
// this instance is running, whose own they may be. Returns 0 or, after a message for each, -EIO.
int host_iface_check(const struct conf *conf, bool is_running);

// Makes the interface of a host, up, without a carrier and addresses. Returns a file descriptor
// that reads and writes its frames or packets without waiting; or -EIO after a message.
int host_iface_open(unsigned int host, const struct host_iface *i);

// Gives it the MTU and the addresses that it is to have now, and removes those given before.
// Returns 0; or -EIO after a message for each that the kernel refuses. Needs CAP_NET_ADMIN.
int host_iface_set(unsigned int host, const struct host_iface *i);

// The kernel's index of the interface that the gateway has made with the name, whichever it has
// now. 0: there is none. Any thread.
unsigned int host_iface_index(const char *name);

// The host of the snapshot whose interface has the kernel's index. -1: there is none. Any thread.
int host_iface_at(unsigned int index, const struct snapshot *s);

// Whether the interface is there: nobody has deleted it or moved it to another namespace.
bool host_iface_exists(unsigned int host);

// The interface is gone.
void host_iface_closed(unsigned int host);

// Whether host_iface_set() is to be called: somebody has changed an MTU or removed addresses that
// the kernel had accepted, or an interface, or has set one down and up again, which removes routes;
// or addresses of a new interface are to be announced again. Control thread.
bool host_iface_lacks(void);

// Whether the gateway has given the interface the address: it is no guest (struct conf_guests). Any
// thread.
bool host_iface_gave(unsigned int host, const struct ip_addr *addr);

// Sets the carrier: whether the port has a link, or the tunnel is up. fd is that of
// host_iface_open(). Any time.
void host_iface_carrier(int fd, bool up);
