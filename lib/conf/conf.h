// SPDX-License-Identifier: BSD-3-Clause
// The configuration as plain structs, read from a libconfig file and checked as a whole: a result
// of conf_load() is consistent, every reference resolved, every default filled in. Control thread
// only. The keys are described in docs/configuration.md.
#pragma once

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
#include "rule_model.h"
#include "sa_model.h"
#include "spd_model.h"

#define CONF_NAME_MAX      32 // octets of a name, NUL included: [A-Za-z0-9_.-]
#define CONF_PORTS_MAX     16
#define CONF_ADDRS_MAX     8      // per port
#define CONF_GUESTS_MAX    8      // the same
#define CONF_MEMBERS_MAX   8      // per port
#define CONF_IKE_PREFIX    "ike." // names of SAs and policies of an IKE daemon, see conf_ike.h
#define CONF_IKE_VIA_MAX   2
#define CONF_WORKERS_MAX   16
#define CONF_POLICY_IN_MAX 4 // inbound SAs of a policy
#define CONF_POLICIES_MAX  16384
#define CONF_RULES_MAX     4096 // the last ones take long to get to
// Buffers for reassembled packets, for each worker: a pass reassembles at most one packet for each
// received, and frees them at its end.
#define CONF_LARGE_BUFFERS 128
#define CONF_EAL_ARGS_MAX  32
#define CONF_SPI_MIN       0x100 // below: reserved (RFC 4303 2.1)

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

// An address of a port and the network that it is in.
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

// How the members of a port share its work.
enum conf_bond { CONF_ACTIVE_BACKUP, CONF_LACP };

struct conf_port {
	struct conf_where where;
	char name[CONF_NAME_MAX];
	// "0000:00:05.0" or "net_tap0,iface=x"; with members the name of the device that is made of
	// them; NULL: it is a VLAN.
	char *device;
	char *members[CONF_MEMBERS_MAX]; // devices
	unsigned int n_members;          // 0: the port has a device of its own, or is a VLAN
	enum conf_bond bond;
	unsigned int devices; // index in devices of its own one, or that of its first member
	char parent_name[CONF_NAME_MAX]; // of a VLAN
	unsigned int parent;             // its index in ports, which has a device
	uint16_t vlan;                   // identifier (IEEE 802.1Q), 0: it is none
	struct conf_iface_addr addrs[CONF_ADDRS_MAX];
	unsigned int n_addrs;
	uint16_t mtu;       // octets of IP packet
	uint16_t rx_queues; // 0: chosen from the device and the number of workers
	bool isolated;      // packets that are not for the gateway are the kernel's
	bool steer;         // each inbound SA gets a queue by a rule of the card
	bool unprotected;   // faces the untrusted side (RFC 4301 4.4.1)
	char *host;         // the kernel's interface behind the port; NULL: none
	struct conf_guests guests;
	bool mac_set;
	struct rte_ether_addr mac; // if mac_set, given to the device
};

struct conf_route {
	struct conf_where where;
	struct ip_prefix to;
	struct ip_addr via;    // of the same family; on the link of port
	unsigned int port;     // index into ports
	struct ip_addr source; // own address that the route is for; none: any
};

struct conf_neighbour {
	struct conf_where where;
	struct ip_addr addr; // on a network of port, or link-local
	unsigned int port;
	struct rte_ether_addr mac;
};

#define CONF_MSS_AUTO UINT16_MAX // the one that fits the path MTU

struct conf_sa {
	struct conf_where where;
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

struct conf_policy {
	struct conf_where where;
	char name[CONF_NAME_MAX];
	enum spd_action action;
	struct ip_prefix local, remote; // of one family, or both ::/0
	enum ip_family family;          // IP_ANY: neither was given, matches both
	uint16_t proto;                 // 0..255 or PROTO_ANY
	// Host byte order; 0..65535 if not restricted. Of ICMP, type << 8 | code.
	uint16_t local_port_min, local_port_max;
	uint16_t remote_port_min, remote_port_max;
	// Of an IKE daemon only:
	uint32_t reqid;    // for SPD_PROTECT: of the SAs
	uint32_t peer_id;  // whose share of the tables it uses; 0: nobody's
	uint32_t priority; // lower decides first
	bool trap;         // is no tunnel: others with the reqid are
	// Indexes into sas, for SPD_PROTECT of the file:
	unsigned int sa_out;
	unsigned int sa_in[CONF_POLICY_IN_MAX];
	unsigned int n_sa_in;
	bool errors_trusted; // ICMP errors out of sa_in are not checked; for SPD_PROTECT
	// Largest TCP segment size that hosts may announce, in octets; 0: any. For SPD_PROTECT.
	uint16_t mss_clamp;
	// For SPD_PROTECT: address to ping through the tunnel (none: no pings), and how often.
	struct ip_addr probe_addr;
	unsigned int probe_interval_s;
};

#define CONF_PORT_ANY UINT32_MAX // matches every port, and this gateway itself

struct conf_rule {
	struct conf_where where;
	char name[CONF_NAME_MAX];
	enum rule_action action;
	bool host;                            // about packets for the host
	struct ip_prefix source, destination; // of one family, or both ::/0
	enum ip_family family;                // IP_ANY: neither was given, matches both
	uint16_t proto;                       // 0..255 or PROTO_ANY
	// Host byte order; 0..65535 if not restricted. Of ICMP the source has type << 8 | code.
	uint16_t source_port_min, source_port_max;
	uint16_t destination_port_min, destination_port_max;
	uint32_t in, out;           // indexes into ports, or CONF_PORT_ANY
	char tunnel[CONF_NAME_MAX]; // as in the file; "": with or without a tunnel
	uint32_t *tunnels;          // the policies that it means: indexes, ascending
	unsigned int n_tunnels;
	enum rule_state states[RULE_STATES];
	unsigned int n_states;
	bool log;
};

// Seconds without a packet after which a flow ends, by state.
struct conf_flow_timeouts {
	unsigned int tcp_syn_sent, tcp_syn_recv, tcp_picked_up, tcp_established;
	unsigned int tcp_fin_wait, tcp_close_wait, tcp_last_ack, tcp_time_wait, tcp_close;
	unsigned int udp, udp_stream, icmp, generic;
};

enum conf_audit { CONF_AUDIT_NONE, CONF_AUDIT_ESP, CONF_AUDIT_POLICY };

enum conf_idle { CONF_IDLE_POLL, CONF_IDLE_PAUSE, CONF_IDLE_SLEEP, CONF_IDLE_INTERRUPT };

enum conf_socket_mode { CONF_MODE_0600, CONF_MODE_0660, CONF_MODE_0666 };

struct conf {
	char instance[CONF_NAME_MAX]; // names the run directory and the telemetry socket
	char *state_dir;              // for state that survives restarts; NULL: none
	char *user;                   // to become when the ports are open; NULL: stay
	char *control_group;          // may change the running configuration; NULL: root alone
	char *show_group;             // may read it and the counters; NULL: root alone
	bool sandbox;                 // restrict system calls
	bool capture;                 // let dpdk-dumpcap attach
	enum log_level log_level;
	enum conf_audit audit;
	unsigned int control_cpu;
	unsigned int worker_cpus[CONF_WORKERS_MAX]; // a CPU may stand here more than once
	struct conf_where control_cpu_where, worker_cpus_where;
	unsigned int n_workers;
	enum conf_idle idle;
	unsigned int memory_mb;      // in all
	unsigned int flow_memory_mb; // of these, the flow table's
	bool hugepages;
	unsigned int packet_buffers;          // mbufs in the pool
	const char *engine;                   // crypto engine: "auto", "ipsec_mb", "openssl"
	unsigned int icmp_errors_per_second;  // per worker
	unsigned int icmp_echoes_per_second;  // the same
	unsigned int host_packets_per_second; // for each rule, port and SA
	enum conf_error
		errors_in_clear[CONF_ERRORS]; // accepted in clear about connections in tunnels
	unsigned int n_errors_in_clear;
	struct ip_addr ike_via[CONF_IKE_VIA_MAX]; // stations with the IKE daemon, one of a family
	unsigned int ike_port[CONF_IKE_VIA_MAX];  // their indexes in ports
	unsigned int n_ike_via;
	unsigned int ike_before; // IKE's policies decide before this one; n_policies: after all
	bool pmtu_learn;         // from ICMP errors about ESP packets
	unsigned int pmtu_min;   // octets, of IPv4; smaller ones are ignored
	unsigned int pmtu_age_s; // seconds
	unsigned int neighbours_max;
	unsigned int neighbour_hold;        // packets held per worker for unresolved neighbours
	unsigned int neighbour_reachable_s; // seconds that a neighbour stays reachable
	unsigned int flows_max;
	unsigned int flows_per_source; // unreplied flows of one source address; 0: no limit
	bool tcp_liberal;              // segments out of the window are accepted
	bool tcp_pickup;               // connections whose SYN was not seen are tracked
	struct conf_flow_timeouts flow_timeouts;
	enum rule_action default_action;    // of packets that no rule matches
	bool default_log;                   // as log of a rule
	struct ip_addr metrics_addr;        // loopback
	unsigned int metrics_port;          // TCP; 0: not by TCP
	char *metrics_socket;               // path; NULL: not by a Unix socket
	enum conf_socket_mode metrics_mode; // of that socket
	char *eal_args[CONF_EAL_ARGS_MAX];
	unsigned int n_eal_args;

#define KIND(id, noun, list, ...)                                                                  \
	struct conf_##noun *list;                                                                  \
	unsigned int n_##list;
#include "conf_kind.def"
	// The devices of this machine, each as a port that has it alone: those of ports, and those
	// of members with the other settings of their port.
	struct conf_port *devices;
	unsigned int n_devices;

	struct conf_arena *arena; // private: memory of the arrays above
	struct conf_tree *tree;   // private: the settings as they were written, keys among them
};

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

// The items of a kind; *n: their number.
const void *conf_items(const struct conf *c, enum conf_kind kind, unsigned int *n);

// Reads and checks the file; also refuses changes of the running configuration (NULL: none) that
// need a restart. Returns the configuration, or NULL after writing every problem found to errors,
// one line each, sorted by file and line: "file:line: item: problem, allowed values".
struct conf *conf_load(const char *path, const struct conf *running, FILE *errors);

// Writes a line, "note: file:line: rule: why", for each rule of a valid configuration that most
// likely never matches: no policy admits its packets, or it lacks host = true although its
// destination is an address of the gateway.
void conf_notes_print(const struct conf *c, FILE *out);

// How many elements of devices a port has, from its devices on; 0: it is a VLAN.
static inline unsigned int conf_port_n_devices(const struct conf_port *p)
{
	if (p->vlan != 0)
		return 0;
	return p->n_members > 0 ? p->n_members : 1;
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

#define CONF_ISOLATED_UDP_MAX 16

// Own UDP ports of the inbound SAs and of IKE's (4500), each once: the card of an isolated port
// gives them to the gateway. Returns their number.
unsigned int conf_isolated_udp_ports(const struct conf *c, uint16_t ports[CONF_ISOLATED_UDP_MAX]);

// Whether any port has a host.
bool conf_has_host(const struct conf *c);

// Whether an IKE daemon may get packets for the gateway's addresses: at ike.via, or on the host
// behind a port.
bool conf_may_have_ike(const struct conf *c);

// The replay window, in packets, of an SA whose window is not set.
unsigned int conf_replay_window(const struct conf *c);

// Where a setting at the top of the file stands, or the file where it is not written.
struct conf_where conf_where_of(const struct conf *c, const char *setting);

// Wipes keys. NULL is allowed.
void conf_free(struct conf *c);
