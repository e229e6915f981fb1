// SPDX-License-Identifier: BSD-3-Clause
// The configuration as plain structs, read from a libconfig file and checked as a whole: a result
// of conf_load() is consistent, every reference resolved, every default filled in. Control thread
// only. The keys are described in docs/configuration.md.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ether.h>

#include "addr.h"
#include "alg.h"
#include "key_id.h"
#include "log.h"
#include "proto_model.h"
#include "route_model.h"
#include "nat_model.h"
#include "rule_model.h"
#include "sa_model.h"
#include "spd_model.h"

#define CONF_NAME_MAX         32 // octets of a name, NUL included: [A-Za-z0-9_.-]
#define CONF_PORTS_MAX        16
#define CONF_PORT_LEAVES_S    20 // until the number of a port that was removed is free
#define CONF_ADDRS_MAX        16 // per port or tunnel
#define CONF_GUESTS_MAX       8  // per port
#define CONF_MEMBERS_MAX      8  // per port
#define CONF_GROUPS_MAX       256
#define CONF_GROUP_ADDRS_MAX  32
#define CONF_PINS_MAX         8      // of a group
#define CONF_IKE_PREFIX       "ike." // names of SAs and policies of an IKE daemon, see conf_ike.h
#define CONF_IKE_VIA_MAX      2
#define CONF_WORKERS_MAX      16
#define CONF_POLICY_IN_MAX    4     // inbound SAs of a policy
#define CONF_POLICIES_MAX     16384 // and tunnels
#define CONF_TUNNELS_MAX      4096
#define CONF_TUNNEL_HOSTS_MAX 112
#define CONF_IFACE_TUNNEL     256 // number of the first tunnel, where rules have that of a port
#define CONF_PROTOCOLS_MAX    32  // of routes of the kernel
#define CONF_HOPS_MAX         16  // of a route
#define CONF_NAT_MAX          1024
#define CONF_HISTORY_MAX      100
#define CONF_ALIASES_MAX      1024
#define CONF_VALUES_MAX       1024 // of a list
#define CONF_RULES_MAX        4096 // the last ones take long to get to
// Buffers for reassembled packets, for each worker: a pass reassembles at most one packet for each
// received, and frees them at its end.
#define CONF_LARGE_BUFFERS 128
#define CONF_FLOWS_GROWTH  16 // of flows.max, times that of the start
#define CONF_EAL_ARGS_MAX  32
#define CONF_ENDPOINTS_MAX 8
#define CONF_ANNOUNCE_MAX  64
#define CONF_SPI_MIN       0x100 // below: reserved (RFC 4303 2.1)

typedef char conf_name[CONF_NAME_MAX];

enum conf_kind {
#define KIND(id, ...) CONF_##id,
#include "conf_kind.def"
	CONF_KINDS,
};

// Where an item stands, for messages of later stages ("device not found").
struct conf_where {
	const char *file; // owned by struct conf
	unsigned int line;
};

// An address of a port or tunnel, and the network that it is in.
struct conf_iface_addr {
	struct ip_addr addr;
	struct ip_prefix net;
};

// Addresses of a port that programs have given the kernel's interface of the port, as VRRP daemons
// do (RFC 5798). They are no part of the file.
struct conf_guests {
	struct ip_addr addr[CONF_GUESTS_MAX];
	struct rte_ether_addr mac[CONF_GUESTS_MAX]; // of the address; zero: that of the port
	unsigned int n;
};

// Addresses that programs have given the kernel's interface of a port with addresses = [ "host" ],
// as DHCP clients do, with their networks and in the kernel's order.
struct conf_followed {
	struct conf_iface_addr addr[CONF_ADDRS_MAX];
	unsigned int n;
};

// How the members of a port share its work.
enum conf_bond { CONF_ACTIVE_BACKUP, CONF_LACP };

// Of a group: this gateway answers for its addresses, or another one does.
enum conf_role { CONF_ACTIVE, CONF_STANDBY };

#define CONF_MSS_AUTO UINT16_MAX // the one that fits the path MTU

// The own end of an SA as it is written: an address, or the name of a port with addresses =
// [ "host" ], one of which it has.
struct conf_own_end {
	struct ip_addr addr;
	conf_name port; // "": an address is written
};

struct conf_sa {
	struct conf_where where;
	struct conf_own_end local; // opt.local follows from it
	struct sa_options opt;
	struct sa_live live;
	uint8_t cipher_key[CRYPTO_CIPHER_KEY_MAX]; // key and salt
	uint8_t auth_key[CRYPTO_AUTH_KEY_MAX];
};

// Of ICMP errors, in either family.
enum conf_error {
	CONF_UNREACHABLE,
	CONF_TOO_BIG,
	CONF_TIME_EXCEEDED,
	CONF_PARAMETER_PROBLEM,
	CONF_ERRORS
};

#define CONF_PORT_ANY UINT32_MAX // matches every port, and this gateway itself

// The values of a setting that takes one or a list of them: disjoint, in ascending order.
#define CONF_VALUES(name, type)                                                                    \
	struct name {                                                                              \
		const type *at;                                                                    \
		unsigned int n;   /* 0: it was not given, and has no default */                    \
		const char *text; /* of a list or an alias: as it was written; else NULL */        \
	}

CONF_VALUES(conf_prefixes, struct ip_prefix);
CONF_VALUES(conf_protos, uint16_t); // 0..255 or PROTO_ANY
CONF_VALUES(conf_ranges, struct proto_ports);

// Packets that a rule is about: they match one value of each.
struct conf_match {
	// Of the same families, which combine with their own alone. Both ::/0: neither was given.
	struct conf_prefixes source, destination;
	enum ip_family family; // IP_ANY: both, or neither was given, which matches both
	struct conf_protos proto;
	struct conf_ranges source_port, destination_port; // of ICMP the source has its types
	uint32_t in, out;                                 // numbers of interfaces, or CONF_PORT_ANY
};

// Addresses that others become.
struct conf_addrs {
	struct ip_addr first, last;
	uint8_t len; // of a prefix that has them all, of one address 128; 0: any from first to last
	bool port;   // those of the interface instead
};

enum conf_route_type {
	CONF_ROUTE_UNICAST,
	CONF_ROUTE_BLACKHOLE,
	CONF_ROUTE_UNREACHABLE,
	CONF_ROUTE_PROHIBIT,
};

enum conf_route_down { CONF_DOWN_DROP, CONF_DOWN_SKIP };

// Several next hops of a route.
struct conf_hops {
	struct conf_hop *hop;
	unsigned int n; // 0: the route has none, or its own one
};

enum conf_audit { CONF_AUDIT_NONE, CONF_AUDIT_ESP, CONF_AUDIT_POLICY };

enum conf_idle { CONF_IDLE_POLL, CONF_IDLE_PAUSE, CONF_IDLE_SLEEP, CONF_IDLE_INTERRUPT };

enum conf_socket_mode { CONF_MODE_0600, CONF_MODE_0660, CONF_MODE_0666 };

// clang-format off
// The structs of items and of groups, from their rows. Without a value, pointers are NULL and
// numbers 0.
#define ITEM(name)                       struct conf_##name { struct conf_where where;
#define GROUP(name)                      struct conf_##name {
#define END                              };
#define OPTION(name, value, def, change, at, help) at
#define TIMEOUT(state, def, help)        unsigned int state;
#define PART(owner, name, ...)           struct conf_##name name;
#define AT(owner, type, member)          type member;
#define UNCOMPARED(owner, type, member)  type member;
#define PORTS_AT(owner, member)          struct proto_ports member;
#define VALUES_AT(owner, type, member)   struct type member;
#define SAME_VALUES(owner, member)
#define SAME(owner, member)
#define ELEMENTS(owner, type, member, max, count) type member[max]; unsigned int count;
#define NO_FIELD
#define DERIVED(...)                     __VA_ARGS__
#include "conf_item.def"
#undef GROUP
#undef END
#undef SUBGROUP
// clang-format on

struct conf {
#define GROUP(name)
#define TOP
#define END
#define SUBGROUP(...)
#define KIND(id, noun, list, ...)                                                                  \
	struct conf_##noun *list;                                                                  \
	unsigned int n_##list;
#include "conf_option.def"
	struct conf_where control_cpu_where, worker_cpus_where;
	// The devices of this machine, each as a port that has it alone: those of ports, and those
	// of members with the other settings of their port.
	struct conf_port *devices;
	unsigned int n_devices;
	// When a configuration replaces another, ports has them by number (conf_numbers.c).
	struct conf_port *listed_ports; // private: in the order of the file; NULL: ports are
	unsigned int n_listed_ports;    // private: their number
	// Numbers of ports that were removed, a bit for each, which are not given to others yet.
	// The control thread clears them.
	_Atomic uint32_t ports_leaving;
	bool may_host; // private: the daemon began with a host, so it may make interfaces
	// As it was when the daemon began: the octets for a packet in each buffer, the largest
	// mtu, and the octets that the kernel leaves free in front of a frame of AF_XDP.
	unsigned int packet_max;
	// Private, likewise: flows.max, and packet_buffers unless it is given.
	unsigned int flows_first, buffers_first;

	struct conf_arena *arena; // private: memory of the arrays above
	struct conf_tree *tree;   // private: the settings as they were written, keys among them
};
#undef ITEM
#undef GROUP
#undef TOP
#undef END
#undef OPTION
#undef TIMEOUT
#undef SUBGROUP
#undef AT
#undef UNCOMPARED
#undef PORTS_AT
#undef VALUES_AT
#undef SAME_VALUES
#undef SAME
#undef PART
#undef ELEMENTS
#undef NO_FIELD
#undef DERIVED

struct conf_option;

// A kind of item: its row of conf_kind.def, where its array and their number are in struct conf,
// the size of an item, and its settings (conf_schema.h).
struct conf_kind_info {
	const char *noun, *list, *identity, *scope;
	bool ordered;
	size_t offset, n_offset, item_size;
	const struct conf_option *options;
};

extern const struct conf_kind_info conf_kinds[CONF_KINDS];

// The items of a kind, in the order of the file; *n: their number.
const void *conf_items(const struct conf *c, enum conf_kind kind, unsigned int *n);

// Reads and checks the file; also refuses changes of the running configuration (NULL: none) that
// need a restart. Returns the configuration, or NULL after writing every problem found to errors,
// one line each, sorted by file and line: "file:line: item: problem, allowed values".
struct conf *conf_load(const char *path, const struct conf *running, FILE *errors);

// Writes a line, "note: file:line: rule: why", for each rule of a valid configuration that most
// likely never matches: no policy admits its packets, or it lacks host = true although its
// destination is an address of the gateway.
void conf_notes_print(const struct conf *c, FILE *out);

// Whether the route has one next hop, a station on the link of its port.
static inline bool conf_route_has_port(const struct conf_route *r)
{
	return r->type == CONF_ROUTE_UNICAST && r->tunnel == 0 && r->hops.n == 0;
}

// The next hops of a route, *n of them: its hops, or in *one its own. 0: it leads nowhere.
const struct conf_hop *conf_route_hops(
	const struct conf_route *r, struct conf_hop *one, unsigned int *n);

// Whether no port has the number of this entry: the port that had it was removed.
static inline bool conf_port_is_free(const struct conf_port *p)
{
	return p->name[0] == '\0';
}

// Whether the first configuration has a port of this number that the second one lacks. Such a port
// is added or removed when one replaces the other.
bool conf_port_is_only_in(const struct conf *a, const struct conf *b, unsigned int number);

// How many elements of devices a port has, from its devices on; 0: it is a VLAN, or free.
static inline unsigned int conf_port_n_devices(const struct conf_port *p)
{
	if (p->vlan != 0 || conf_port_is_free(p))
		return 0;
	return p->n_members > 0 ? p->n_members : 1;
}

// The host behind port i or, with i from n_ports on, of a tunnel: its interface. NULL: there is
// none.
static inline const char *conf_host(const struct conf *c, unsigned int i)
{
	return i < c->n_ports ? c->ports[i].host : c->tunnels[i - c->n_ports].host;
}

// The addresses of interface i: of a port or, with i from n_ports on, of a tunnel.
static inline const struct conf_iface_addr *conf_addrs(
	const struct conf *c, unsigned int i, unsigned int *n)
{
	if (i < c->n_ports) {
		*n = c->ports[i].n_addrs;
		return c->ports[i].addrs;
	}
	*n = c->tunnels[i - c->n_ports].n_addrs;
	return c->tunnels[i - c->n_ports].addrs;
}

#define CONF_PCI_NAME_MAX 20

// Whether a device is a PCI address; writes it with its domain: "0000:00:05.0".
bool conf_device_pci(char name[CONF_PCI_NAME_MAX], const char *device);
bool conf_device_is_pci(const char *device);

#define CONF_BUS_NAME_MAX 64

// The bus that a device is on, as sysfs calls it, NULL: it is a virtual device of DPDK's. Writes
// its name there: a PCI address with its domain, an auxiliary device ("mlx5_core.sf.4"), or the
// UUID of a device of VMBus.
const char *conf_device_bus(char name[CONF_BUS_NAME_MAX], const char *device);
bool conf_device_is_virtual(const char *device);

// The value of one of the device's arguments, "iface=lan0" for example. False if it has none of
// this name, or its value does not fit.
bool conf_device_arg(char *value, size_t size, const char *device, const char *name);

// Whether a device is a representor, which stands for a function of the card at its PCI address:
// "0000:03:00.0,representor=vf1". With a list in brackets, it is the card itself.
bool conf_device_is_representor(const char *device);

// Whether a virtual device attaches to an interface of the kernel that exists already.
bool conf_device_is_attached(const char *device);

// Whether it does so by a program in the kernel, AF_XDP.
bool conf_device_is_xdp(const char *device);

// Whether the arguments of a virtual device name others, which may be cards.
bool conf_device_is_composed(const char *device);

#define CONF_ISOLATED_UDP_MAX 16

// Own UDP ports of the inbound SAs and of IKE's (4500), each once: the card of an isolated port
// gives them to the gateway. Returns their number.
unsigned int conf_isolated_udp_ports(const struct conf *c, uint16_t ports[CONF_ISOLATED_UDP_MAX]);

// Whether any port or tunnel has a host.
bool conf_has_host(const struct conf *c);

// Whether an IKE daemon may get packets for the gateway's addresses: at ike.via, or on the host
// behind a port.
bool conf_may_have_ike(const struct conf *c);

// The replay window, in packets, of an SA whose window is not set.
unsigned int conf_replay_window(const struct conf *c);

// Where a setting at the top of the file stands, or the file where it is not written.
struct conf_where conf_where_of(const struct conf *c, const char *setting);

// The selectors of a policy as those of packets from local to remote, by any interface.
struct conf_match conf_policy_match(const struct conf_policy *p);

// Whether any of the prefixes contains the address, or overlaps the prefix, or one of the others.
bool conf_prefixes_contain(const struct conf_prefixes *p, const struct ip_addr *a);
bool conf_prefixes_overlap(const struct conf_prefixes *p, const struct ip_prefix *other);
bool conf_prefixes_meet(const struct conf_prefixes *a, const struct conf_prefixes *b);

// The address of one of fleet_endpoints. False: the text is not one.
bool conf_endpoint_addr(struct ip_addr *a, const char *endpoint);

// The port with the name; NULL: there is none.
const struct conf_port *conf_port_named(const struct conf *c, const char *name);

// Whether a reload may add a VLAN of the port, which has a device.
bool conf_port_may_have_vlans(const struct conf_port *p);

// Why a reload can neither add nor remove a port with a device; NULL: it can.
const char *conf_port_must_stay(const struct conf_port *p, const struct conf *running);

// Whether an address is of the group.
bool conf_group_has(const struct conf_group *g, const struct ip_addr *a);

// The group that has the address. NULL if there is none.
const struct conf_group *conf_group_of(const struct conf *c, const struct ip_addr *a);

// Index of the port that has this address. -1 if there is none.
int conf_own_port(const struct conf *c, const struct ip_addr *a);

// Gives a port with addresses = [ "host" ] those of the kernel's interface that it can have, and
// one of them to the SAs that name the port, before the configuration is used; without an effect on
// other ports. A line to ignored, with the place in the file, for each of the others.
void conf_follow_host(
	struct conf *c, unsigned int port, const struct conf_followed *has, FILE *ignored);

// Whether the port has addresses, or will have those of its host.
static inline bool conf_port_has_addrs(const struct conf_port *p)
{
	return p->n_addrs > 0 || p->follows_host;
}

// Wipes keys. NULL is allowed.
void conf_free(struct conf *c);
