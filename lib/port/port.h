// SPDX-License-Identifier: BSD-3-Clause
// Ports: from a device named in the configuration to a started ethdev; and VLANs, which use the
// device of their parents. Control thread at the start, the device thread after that
// (device_thread.h), unless noted.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "addr.h"
#include "conf.h"
#include "device_watch.h"
#include "listener.h"
#include "port_offload.h"
#include "port_rules.h"
#include "vlan.h"

#define PORT_MACS_MAX (CONF_PORTS_MAX * CONF_GUESTS_MAX)

struct bond;

struct port {
	const struct conf_port *conf;
	// Whether there is a device, which all threads may use. Written by the control thread,
	// which waits until workers have seen it before the device is closed.
	atomic_bool open;
	uint16_t n_rx, n_tx; // queues; as the link address, the same for all devices that it gets
	struct rte_ether_addr mac;
	// Of the device; see port_adopt().
	uint16_t id; // ethdev's number
	struct device_watch watch;
	struct device_stall stall;
	bool lacks_mtu; // its interface has a smaller one now, which has been reported
	bool is_denied; // the socket that it connects to is there, but not for this user: the same
	char driver[RTE_ETH_NAME_MAX_LEN];
	struct port_offloads offloads;
	struct port_rules *rules;             // of the card; NULL: the port has none
	struct bond *bond;                    // its members; NULL: it has one device, or is a VLAN
	uint16_t member_id[CONF_MEMBERS_MAX]; // ethdev's numbers of the open ones
	unsigned int n_member_ids;
	bool is_attached;  // to an interface of the kernel
	bool inserts_vlan; // it tags frames that are to be sent
	bool returns; // a lost device is opened again; else the port is closed until the next start

	struct vlan_map *vlans; // the ports of its VLANs; NULL: it has none
	struct port *next_vlan; // the first of these ports, and from there the next; NULL: none
	struct port *parent;    // of a VLAN, which has nothing of the above but conf; else NULL
	uint16_t vlan;          // its identifier
	uint16_t filter[CONF_PORTS_MAX]; // VLANs that the filter of the device accepts
	unsigned int n_filter;
	struct rte_ether_addr groups[LISTENER_GROUPS_MAX]; // multicast groups to be received
	unsigned int n_groups;
	// Link addresses beside mac that the device receives, for the port and its VLANs.
	struct rte_ether_addr macs[PORT_MACS_MAX];
	unsigned int n_macs;
};

// The port with the device that sends and receives for a port. Any thread.
static inline const struct port *port_device(const struct port *p)
{
	return p->parent != NULL ? p->parent : p;
}

// Whether workers may use the device of a port. Any thread.
static inline bool port_is_open(const struct port *p)
{
	return atomic_load_explicit(&port_device(p)->open, memory_order_acquire);
}

// Sets up the fields of a port that need no device: its queues and its link address. A device that
// is opened for it later must have them.
void port_expect(struct port *p, const struct conf *conf, const struct conf_port *c);

// Opens and starts the device of a port that has been there before (port_expect(), or an earlier
// device), or is opened for the first time. The caller sets p->open. Every failure is logged with
// its cause and the remedy. Returns 0 or -EIO.
int port_open(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool);

// Makes the device receive the frames of all groups, if need be also those for other stations,
// which are dropped. Returns 0 or -errno.
int port_listen_to_all(const struct port *p);

// Gives a port the device that was opened for it with opened. Control thread.
void port_adopt(struct port *p, const struct port *opened);

// Whether the port is connected. Control thread.
bool port_has_link(const struct port *p);

// Whether opening the device of a port makes sense, or that of one of its members. Any thread.
bool port_is_present(const struct conf *conf, const struct conf_port *c);

// Sets the n multicast groups of a port, at most LISTENER_GROUPS_MAX. port_groups_set() makes the
// device receive their frames. Control thread.
void port_listen(struct port *p, const struct ip_addr group[], unsigned int n);

// Makes the device of a port receive, beside those to its own link address, the frames of groups
// and guests (struct conf_guests) of the port and its VLANs. Logs features that the device lacks.
// With the gateway's lock.
void port_groups_set(struct port *p);

// Stops and closes the device of a port that was opened.
void port_close(const struct port *p);

// Makes the ports that are VLANs out of the ports of the same configuration. Returns 0 or -ENOMEM.
// Control thread.
int ports_add_vlans(struct port ports[], const struct conf *conf);

// Prepares the port of a VLAN that a configuration adds, before workers get its snapshot, and its
// parent if that has had none. Its number is free. Returns 0 or -ENOMEM. With the gateway's lock.
// Control thread.
int port_prepare_vlan(struct port ports[], const struct conf_port *c, unsigned int number);

// After a configuration was not replaced: takes from the ports of the running one the preparations
// for a first VLAN. With the gateway's lock. Control thread.
void ports_forget_vlans(struct port ports[], const struct conf *conf);

// After the configuration of the ports was replaced: each VLAN of it receives, others do not. The
// device thread calls port_vlans_set() next. With the gateway's lock. Control thread.
void ports_follow_vlans(struct port ports[], const struct conf *conf);

// Makes the filter of an open port's device accept the VLANs of the configuration and no others,
// and the device receive all groups if a VLAN has a host. Logs a failure. With the privileges of
// the device thread.
void port_vlans_set(struct port *p, const struct conf *conf);

// Frees the memory of a port. Control thread.
void port_free(struct port *p);

// --- of VLANs, for opening the device: port.c alone ---

// Makes the device receive the VLANs of the configuration and no others, if it filters them: some
// do whether asked to or not. Priority tags are taken as far as the device can. With the privileges
// that the device needs. Returns 0 or -errno.
int port_vlan_filters_set(struct port *p, const struct conf *conf);

// Whether the device is to receive all groups. Routing protocols of the host use groups that the
// device is not asked for. With LACP, net_bonding discards even broadcasts otherwise.
bool port_needs_all_groups(const struct conf *conf, const struct conf_port *c);
