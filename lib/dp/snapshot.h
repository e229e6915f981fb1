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

#include "decisions.h"
#include "route.h"
#include "rule.h"
#include "sa_ledger.h"
#include "sa_udp.h"
#include "sad.h"
#include "spd.h"

#define PORTS_MAX      16
#define PORT_NAME_MAX  32
#define PORT_ADDRS_MAX 9

// What is audited: nothing, what ESP drops, and what policy drops as well.
enum audit { AUDIT_NONE, AUDIT_ESP, AUDIT_POLICY };

// By family.
enum { SOURCE_V4, SOURCE_V6, SOURCES };

struct snapshot_port {
	struct rte_ether_addr mac;
	uint16_t mtu;     // octets of IP packet
	bool unprotected; // faces the untrusted side (RFC 4301 4.4.1)
	uint8_t n_addrs;
	struct ip_addr addrs[PORT_ADDRS_MAX]; // with IPv6, a link-local one is among them
	// Subnet-router anycast addresses of the port's networks (RFC 4291 2.6.1).
	uint8_t n_anycast;
	struct ip_addr anycast[PORT_ADDRS_MAX];
	// Link-local addresses are the same on every link, so no route has them: next hops to those
	// of stations, and to our own.
	struct nexthop on_link, own_link_local;
	char name[PORT_NAME_MAX];
};

// Not for workers: read and written by the control thread, and while a snapshot is built by the
// load thread alone, during which the control thread retires none.
struct snapshot_control {
	struct sa_ledger *ledger; // of the SAs, which may be those of other snapshots, too
	// By index of sa_out, what is to be its path; once the snapshot is published, what was its
	// path. NULL for an SA that is new.
	struct sa_path **path;
	void *carry_room; // for build_counts_carry(), which must not fail; NULL for the first one
};

struct snapshot {
	uint32_t generation; // 1, 2, 3, ...
	uint16_t n_ports;
	struct snapshot_port port[PORTS_MAX]; // indexed by the gateway's number of the port
	struct route_table *routes;
	struct sad *sad;
	struct sa_out *
		*sa_out_by_spi; // all outbound SAs, in ascending order of spi as it is in memory
	// Those in UDP over IPv4, by endpoint of the peer. The control thread replaces it.
	struct sa_udp_index *_Atomic sa_out_by_udp;
	// Smallest path MTU that is accepted, of IPv4: octets. 0: none is.
	uint16_t pmtu_min;
	struct spd *spd;
	// Own ports of ESP in UDP (RFC 3948): a bit for each, by number. NULL: there are none.
	uint8_t *udp_ports;
	// Then the own addresses of those SAs, sorted; in transport mode hosts', too.
	struct ip_addr *udp_ends;
	unsigned int n_udp_ends;
	bool mss_clamped; // by any policy
	enum audit audit;
	// By family: the next hop that IKE packets are punted to; gateway none: they are not.
	struct nexthop ike_via[SOURCES];
	// Kinds of ICMP errors, 1 << enum icmp_kind, that are accepted in clear about packets of a
	// tunnel.
	uint32_t errors_in_clear;
	// By index of policy: source addresses of packets that the gateway sends through its
	// tunnel; none if there is none of the family.
	struct ip_addr (*policy_source)[SOURCES];
	const struct spd_policy *policies;                   // those of spd
	struct decisions *policy_decisions, *rule_decisions; // counters: see there who writes

	struct rule_set *rules; // tunnels are indexes of policies

	struct snapshot_control *control;
	// All SAs, for lists.
	struct sa_in **sa_in;
	struct sa_out **sa_out;
	unsigned int n_sa_in, n_sa_out;
	struct sa_out **dummies; // those of sa_out that have dummies
	uint32_t n_dummies;
};

// Whether the address is an own one of the port.
static inline bool snapshot_port_has(const struct snapshot_port *port, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < port->n_addrs; i++)
		if (ip_addr_equal(&port->addrs[i], addr))
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

// The place of a policy in snapshot->policies.
static inline uint32_t snapshot_policy_index(
	const struct snapshot *s, const struct spd_policy *policy)
{
	return (uint32_t)(policy - s->policies);
}
