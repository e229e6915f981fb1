// SPDX-License-Identifier: BSD-3-Clause
// The members of a port: several devices that work as one, an ethdev that DPDK's driver net_bonding
// makes of theirs (docs/decisions/0041-bonding.md). They all have the link address of the port from
// the start: when another one takes over, no privilege is needed to set anything. The thread that
// has the port (device_thread.h), unless noted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "conf.h"

struct bond;

// Makes the members of a port, none of which is open yet. free() it when they are closed. Returns
// NULL with errno ENOMEM.
struct bond *bond_new(const struct conf_port *c);

// Required features of an ethdev made of members.
struct bond_params {
	const struct conf *conf;
	const struct conf_port *c; // of the port
	struct rte_ether_addr mac; // all zero: that of the first member that opens
	uint16_t n_rx, n_tx;       // queues that each member has to have; 0: any number
};

// Opens the members that are there and makes an ethdev of them, *id, which is not configured yet.
// One is enough: members that are missing or fail are left out, with a warning. Every failure is
// logged with its cause and the remedy. Returns 0, or -EIO; then no member is open.
int bond_open(uint16_t *id, struct bond *b, const struct bond_params *p);

// Limits the queues of the ethdev to those of every open member: net_bonding asks drivers again,
// and does not know the results of device_identify().
void bond_limit(struct rte_eth_dev_info *info, const struct bond *b);

// Once that is started. From then on net_bonding logs that it lacks the privileges to undo settings
// that may stay; those lines are left out.
void bond_ready(void);

// Closes the members, after the ethdev made of them was closed.
void bond_close(struct bond *b);

// Makes all open members receive the frames of all multicast groups. Returns 0 or -errno.
int bond_listen_to_all(const struct bond *b);

// Writes ethdev's numbers of the open members; returns how many.
unsigned int bond_ids(uint16_t id[CONF_MEMBERS_MAX], const struct bond *b);

// Whether the port has to be closed and opened again: a member is to be removed, or one that was
// missing is there. Posts which. c: of the port. returns: it can be opened again; if not, a member
// that is there is only logged. Call every 100 ms or so. Control thread.
bool bond_is_lost(struct bond *b, const struct conf_port *c, bool returns);

// State of a member that does not work for the port: "absent", it is missing, or "failed", it did
// not open. NULL: it works, with or without a link. Any thread that holds the gateway's lock, while
// the port is open. The same holds for the functions below.
const char *bond_failure(const struct bond *b, unsigned int member);

// The ethdev of a member and its link. False: it is not open.
bool bond_member(
	uint16_t *id, struct rte_eth_link *link, const struct bond *b, unsigned int member);

// The members that send and receive for the port: bit i is that of member i. 0: none does, the port
// has no link.
uint32_t bond_active(const struct bond *b);

// The other end of a member's link, by LACP. False: none is known.
bool bond_partner(struct rte_ether_addr *system, const struct bond *b, unsigned int member);
