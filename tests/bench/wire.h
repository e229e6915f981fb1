// SPDX-License-Identifier: BSD-3-Clause
// Both ends of virtual wires in this process: at the one end the ports of a gateway, which the
// daemon's code opens as it opens those of its configuration, at the other the devices of a peer.
#pragma once

#include "port.h"

struct wire_kind {
	const char *name;
	// Devices; %1$u is a number of their own, %2$u the wire, %3$s the folder of the sockets.
	const char *port, *peer;
	bool peer_first; // the port needs the peer's socket or interface
	bool loses;      // the port loses its link when the peer is gone
	bool kernel;     // between them are interfaces of the kernel, bench0 and bench1; needs root
};

// Ends with one without a name.
extern const struct wire_kind wire_kinds[];

struct wires {
	struct conf *conf;
	struct port port[2]; // by the number of the wire
	uint16_t peer[2];    // ethdev's numbers of the peers
	char folder[32];     // of the sockets
	char name[2][32];    // of the peers' devices
	const struct wire_kind *kind;
};

// Opens two of a kind. args and peer_args: further arguments of the devices, each with a comma in
// front, or ""; pool: of the ports; peer_pool: of the peers. Ends the program on failure.
void wires_open(struct wires *w, const struct wire_kind *kind, const char *args,
	const char *peer_args, struct rte_mempool *pool, struct rte_mempool *peer_pool);
void wires_close(struct wires *w);
