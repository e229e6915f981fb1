// SPDX-License-Identifier: BSD-3-Clause
// The configuration as workers read it: complete, immutable, published as one pointer and replaced
// as a whole. lib/build makes it, on the load or control thread; it is freed a grace period of all
// workers after it was replaced (QSBR).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>

#include "carry_notes.h"
#include "flow_entry.h"
#include "interface.h"
#include "nat.h"
#include "objects.h"
#include "route.h"
#include "rule.h"
#include "spd.h"

#define PORT_NAME_MAX    32
#define PORT_ADDRS_MAX   25
#define TUNNEL_ADDRS_MAX 17

// By family.
enum { SOURCE_V4, SOURCE_V6, SOURCES };

// Audited packets: none, those dropped by ESP, or also those dropped by policy.
enum audit { AUDIT_NONE, AUDIT_ESP, AUDIT_POLICY };

struct snapshot_port {
	struct rte_ether_addr mac;
	uint8_t n_addrs;
	struct ip_addr addrs[PORT_ADDRS_MAX];       // with IPv6, a link-local one is among them
	struct rte_ether_addr macs[PORT_ADDRS_MAX]; // of the addresses: mac, or another one
	bool has_macs;                              // any other one
	// Subnet-router anycast addresses of the port's networks (RFC 4291 2.6.1).
	uint8_t n_anycast;
	struct ip_addr anycast[PORT_ADDRS_MAX];
	struct nexthop on_link, own_link_local; // see struct iface
	struct nexthop host;                    // to the host behind the port
	char name[PORT_NAME_MAX];
};

// A tunnel that routes lead into, with addresses.
struct snapshot_tunnel {
	struct nexthop into, own_link_local, host; // see struct iface
	struct ip_addr addrs[TUNNEL_ADDRS_MAX];
};

// Not for workers: read and written by the control thread, and while a snapshot is built by the
// load thread alone, during which the control thread retires none.
struct snapshot_control {
	struct sa **sa; // of the configuration, in its order
	unsigned int n_sa;
	// The routes of the configuration, which build_commit() compares with those in the table.
	struct route *routes;
	unsigned int n_routes;
	// Objects that the snapshot replaced when it was published. They are freed with its
	// predecessor.
	void **replaced;
	unsigned int n_replaced;
	struct route_removed routes_replaced;
};

// Objects that packets, flows and SAs refer to are not in the struct itself: a snapshot that
// differs from its predecessor in its objects alone shares them (lib/control/ike_sas.c).
struct snapshot {
	// 1, 2, 3, ...: of everything that the snapshot refers to. Of snapshot_generation_next().
	uint32_t generation;
	// The generation in which the objects that decide about flows last changed.
	uint32_t flow_generation;
	// The one before: its decisions hold if carry does not concern them. 0: none do.
	uint32_t carried;
	struct carry *carry;
	uint16_t n_ports;           // or more; numbers of ports that were removed have no addresses
	struct snapshot_port *port; // indexed by the gateway's number of the port
	struct iface *iface;        // by number
	struct snapshot_tunnel *tunnel; // by place in the configuration
	struct objects *objects;        // which the snapshots share
	struct route_table *routes;     // that of the objects
	// Smallest path MTU that is accepted, of IPv4: octets. 0: none is.
	uint16_t pmtu_min;
	struct spd *spd; // the configuration's policies
	// Place in spd before which IKE's policies decide.
	unsigned int ike_before;
	// Own ports of ESP in UDP (RFC 3948): a bit for each, by number. NULL: there are none.
	uint8_t *udp_ports;
	// Then the own addresses of those SAs, sorted; in transport mode hosts', too.
	struct ip_addr *udp_ends;
	unsigned int n_udp_ends;
	bool mss_clamped; // by any policy
	enum audit audit;
	// By family: the next hop that IKE packets are punted to; gateway none: they are not.
	struct nexthop *ike_via;
	// Kinds of ICMP errors, 1 << enum icmp_kind, that are accepted in clear about packets of a
	// tunnel.
	uint32_t errors_in_clear;
	struct rule_set *rules;  // tunnels are numbers of policies
	struct nat_set *nat;     // NULL: nothing is translated
	struct sa_out **dummies; // SAs that have dummies
	uint32_t n_dummies;
	struct snapshot_control *control;
	// By i of IFACE_HOST(i): the generation of the first snapshot with this host of a tunnel,
	// or of a port that came later than the first snapshot; 0 for other hosts of ports. Packets
	// in rings carry it in hash.usr: those of a former host, which had the same number, are
	// dropped.
	uint32_t host_since[HOSTS_MAX];
};

// The generation after another one. It is neither 0, which means that no decision was made, nor
// FLOW_DECIDING.
static inline uint32_t snapshot_generation_next(uint32_t generation)
{
	return generation < FLOW_DECIDING - 1 ? generation + 1 : 1;
}

// The link address of an own address of the port; NULL: the address is not the port's.
static inline const struct rte_ether_addr *snapshot_port_mac(
	const struct snapshot_port *port, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < port->n_addrs; i++)
		if (ip_addr_equal(&port->addrs[i], addr))
			return &port->macs[i];
	return NULL;
}

// Whether the address is an own one of the port.
static inline bool snapshot_port_has(const struct snapshot_port *port, const struct ip_addr *addr)
{
	return snapshot_port_mac(port, addr) != NULL;
}

// Whether the link address is the port's, or that of one of its addresses.
static inline bool snapshot_port_is_at(
	const struct snapshot_port *port, const struct rte_ether_addr *mac)
{
	if (rte_is_same_ether_addr(&port->mac, mac))
		return true;
	for (unsigned int i = 0; port->has_macs && i < port->n_addrs; i++)
		if (rte_is_same_ether_addr(&port->macs[i], mac))
			return true;
	return false;
}

// The number of the port that has the address as an own one; n_ports: none has it.
static inline uint16_t snapshot_port_of(const struct snapshot *s, const struct ip_addr *addr)
{
	uint16_t port = 0;

	while (port < s->n_ports && !snapshot_port_has(&s->port[port], addr))
		port++;
	return port;
}

// Whether the address is an own one of any port.
static inline bool snapshot_has(const struct snapshot *s, const struct ip_addr *addr)
{
	return snapshot_port_of(s, addr) < s->n_ports;
}

// Whether the address is an own one of the interface.
static inline bool iface_has(const struct iface *iface, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < iface->n_addrs; i++)
		if (ip_addr_equal(&iface->addrs[i], addr))
			return true;
	return false;
}

// If there are any: whether a port is one of ESP in UDP.
static inline bool snapshot_has_udp_port(const struct snapshot *s, rte_be16_t port)
{
	uint16_t number = rte_be_to_cpu_16(port);

	return (s->udp_ports[number / 8] >> number % 8 & 1) != 0;
}

static inline int snapshot_compare_ends(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ip_addr));
}

// If there are any: whether an SA has ESP in UDP at an own address.
static inline bool snapshot_has_udp_end(const struct snapshot *s, const struct ip_addr *addr)
{
	return bsearch(addr, s->udp_ends, s->n_udp_ends, sizeof(*addr), snapshot_compare_ends) !=
	       NULL;
}

// The policy with the number; NULL: the number is 0, or that of a policy that was deleted.
static inline const struct spd_policy *snapshot_policy(const struct snapshot *s, uint16_t number)
{
	return atomic_load_explicit(&s->objects->policy[number], memory_order_acquire);
}

// The tunnel that the next hop leads into; NULL: the snapshot does not have it.
static inline const struct spd_policy *snapshot_tunnel(
	const struct snapshot *s, const struct nexthop *nexthop)
{
	return s->iface[nexthop->iface].tunnel;
}

// Policy i of all in the order in which they decide, for lists. NULL: there are no more. Control
// thread.
static inline const struct spd_policy *snapshot_policy_at(const struct snapshot *s, unsigned int i)
{
	if (i >= s->ike_before && i - s->ike_before < s->objects->n_listed)
		return s->objects->listed[i - s->ike_before];
	if (i >= s->ike_before)
		i -= s->objects->n_listed;
	return i < spd_count_policies(s->spd) ? spd_at(s->spd, i) : NULL;
}

// The inbound SA with the SPI, or NULL.
static inline struct sa_in *snapshot_find_in(const struct snapshot *s, rte_be32_t spi)
{
	return sad_find(s->objects->sad_in, spi);
}

// Whether there may be an inbound SA in transport mode between these ends, as sad_has_ends().
static inline bool snapshot_has_ends(
	const struct snapshot *s, const struct ip_addr *local, const struct ip_addr *remote)
{
	return sad_has_ends(s->objects->sad_in, local, remote);
}

static inline void snapshot_prefetch_in(const struct snapshot *s, rte_be32_t spi)
{
	sad_prefetch(s->objects->sad_in, spi);
}
