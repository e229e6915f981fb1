// SPDX-License-Identifier: BSD-3-Clause
// The control thread: neighbours, signals, and in the end an orderly stop.
#pragma once

#include "gateway.h"

// Blocks the signals that control_run() waits for, before any other thread is made. Ignores
// SIGPIPE: drivers write to sockets of processes that may be gone, virtio-user to its vhost.
void control_block_signals(void);

// Sends a neighbour request from this thread; the callback of struct neigh_params, arg being the
// gateway.
void control_solicit(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to);

// Sends an IP packet of this thread's own by a port, to a link address.
void control_send_packet(
	struct gateway *g, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *to);

// Solicits for an own address that may be another station's; callback of struct dad_params, arg
// being the gateway.
void control_dad_solicit(void *arg, uint16_t port, const struct ip_addr *addr);

// Tells everyone on a port's link where an own IPv6 address is.
void control_announce_addr(struct gateway *g, uint16_t port, const struct ip_addr *addr);

// Tells everyone on a port's link where its addresses are, so that their tables are right at once:
// the hardware, theirs or ours, may be another now. Those of IPv6 only when they are known to be
// ours.
void control_announce(struct gateway *g, uint16_t port);

// Runs until SIGTERM or SIGINT; on SIGHUP it reads the configuration again.
void control_run(struct gateway *g);

// Stops the workers: packets in flight are sent or counted.
void control_stop_workers(struct gateway *g);
