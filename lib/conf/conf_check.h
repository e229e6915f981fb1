// SPDX-License-Identifier: BSD-3-Clause
// Checks of settings against each other, and the defaults that follow from other settings. Only
// accepted settings are checked, so that one mistake gives one message. Private to lib/conf,
// control thread only.
#pragma once

#include "conf_schema.h"

#define IKE_PORT     500
#define IKE_NAT_PORT 4500 // and of SAs that IKE adds at any time (RFC 3948)

// The order matters: each relies on those before.
void conf_check(struct conf_reader *r);
#define KIND(id, noun, list, ...) void conf_check_##list(struct conf_reader *r);
#include "conf_kind.def"
void conf_check_sides(struct conf_reader *r);
void conf_check_isolated(struct conf_reader *r);
void conf_check_channel(struct conf_reader *r);
void conf_check_fleet(struct conf_reader *r);

// Differences for SAs and policies of an IKE daemon: refuses in a configuration the settings that
// only they may have, and in a request of the daemon the settings that they may not have or lack.
// list: sas or policies, which has n elements.
void conf_check_ike(struct conf_reader *r, enum conf_kind kind);

// The SA, whose local is the name of a port, gets the port's first address of the family of its
// remote; without one the unspecified address, which no port has, so that it drops its packets.
void conf_local_follow(struct conf_sa *sa, const struct conf_port *port);

// Check the ends and UDP ports of an SA, settings of that group. Of an IKE daemon's SA, also the
// port of the own end: it must be on the unprotected side already, for it cannot change the sides.
void conf_check_ends(struct conf_reader *r, config_setting_t *group, const struct conf_sa *sa);
void conf_check_udp(struct conf_reader *r, config_setting_t *group, struct conf_sa *sa);
void conf_check_ike_port(struct conf_reader *r, config_setting_t *group, const struct conf_sa *sa);

// Refuses a device of a port, as setting s has it, if it is neither on a bus nor names a driver,
// and a representor of no port's device.
void conf_check_device(
	struct conf_reader *r, config_setting_t *s, const char *device, unsigned int port);

// The same for the device of a member; refuses also devices that cannot be one.
void conf_check_member(
	struct conf_reader *r, config_setting_t *s, const char *device, unsigned int port);

// Refuses the first host if the daemon has none since its start: it has given up the privilege to
// make interfaces.
void conf_check_first_host(struct conf_reader *r);

// Packet buffers that may be in use at once: in the queues of ports, in workers' bursts and caches,
// in the rings of hosts, and for packets that wait for a neighbour.
unsigned int conf_packet_buffers(const struct conf *c);

// Checks that memory.size has room for packet buffers, whose number and size it sets, and flows.
void conf_check_memory(struct conf_reader *r);

// Whether two devices are the same, or use the same interface of the kernel's.
bool conf_devices_are_equal(const char *a, const char *b);

// Refuses the first VLAN of a port with members or tso that was opened without one.
void conf_check_first_vlan(struct conf_reader *r, const struct conf *running);

// Orders ports by number: that of the port with the same name in the configuration that is to be
// replaced, or a free one. Last, if there is no mistake: references change as well.
void conf_number_ports(struct conf_reader *r);

// Refuses more growth of flows.max since the start than there is address space for.
void conf_check_growth(struct conf_reader *r);

// Refuses settings that differ from the running configuration and need a restart. After
// conf_check().
void conf_check_restart(struct conf_reader *r, const struct conf *running);

// Refuses UDP ports of SAs that the cards of isolated ports do not give the gateway: they have
// rules for the ports of the start, of which the running configuration may have fewer.
void conf_check_isolated_restart(struct conf_reader *r, const struct conf *running);

// Fills in devices: names the devices made of the members of ports, and lists all devices. After
// conf_check_ports() has found no mistake.
void conf_devices_list(struct conf *c);

// The i-th element of a list at the top of the file.
config_setting_t *conf_item(const struct conf_reader *r, enum conf_kind kind, unsigned int i);

// The setting of this name in a group if it is there and was not rejected, else NULL.
config_setting_t *conf_given(const config_setting_t *group, const char *name);

// Reports that an item lacks the setting of this name.
void conf_require(
	struct conf_reader *r, enum conf_kind kind, config_setting_t *item, const char *name);

// An error, why, if the setting of this name is given.
void conf_refuse_given(
	struct conf_reader *r, const config_setting_t *group, const char *name, const char *why);

// An error, why, for each setting of the group that the schema has with this bit of CONF_ONLY_*.
void conf_refuse(struct conf_reader *r, const struct conf_option *options,
	const config_setting_t *group, unsigned int only, const char *why);

// Whether there is a setting of this name in a group that was rejected.
bool conf_rejected(const config_setting_t *group, const char *name);

// Where a message about a setting goes: to the setting, or to its group if it is not there.
config_setting_t *conf_at(config_setting_t *group, const char *name);

// Elements of n whose settings of these names (the last one is NULL) are all given.
struct conf_set conf_set_given(
	const struct conf_reader *r, enum conf_kind kind, const char *const names[]);

typedef int (*conf_compare)(const struct conf *c, unsigned int a, unsigned int b);

void conf_set_sort(const struct conf_reader *r, struct conf_set *set, conf_compare compare);

// Compare SAs by name; by SPI, where that must be unique; by the key of the cipher, and then by the
// key of the authentication.
int conf_compare_sa_names(const struct conf *c, unsigned int a, unsigned int b);
int conf_compare_spis(const struct conf *c, unsigned int a, unsigned int b);
int conf_compare_cipher_keys(const struct conf *c, unsigned int a, unsigned int b);
int conf_compare_keys(const struct conf *c, unsigned int a, unsigned int b);

// The port that receives ESP of an SA: to an address of the port, or to a host behind another port.
// -1: none is known.
int conf_sa_port(const struct conf *c, const struct conf_sa *sa);

// Sorts, and reports every element that is equal to one before it in the file: the problem, at the
// setting of this name, followed by a reference to the earlier one.
void conf_reject_equal(struct conf_reader *r, enum conf_kind kind, struct conf_set *set,
	conf_compare compare, const char *name, const char *problem);

// The names of the elements of a list, to which other settings refer.
struct conf_names {
	enum conf_kind kind;
	const char *first;   // name; the next one is an item further on
	struct conf_set set; // accepted elements, sorted
	bool complete;       // all were
};

struct conf_names conf_names_sort(const struct conf_reader *r, enum conf_kind kind);

// Reports every element of a list that has the name of one before it. Returns those with a name, in
// the order of names.
struct conf_set conf_check_names(struct conf_reader *r, enum conf_kind kind);

// Index of the element of this name; of the first in the file if there are several. -1 if there
// is none.
int conf_names_find(const struct conf_names *n, const char *name);

// Reports that a setting names an element that none of the lists (the last one is NULL) has, unless
// an element with its name may have been rejected.
void conf_names_reject(struct conf_reader *r, config_setting_t *s,
	const struct conf_names *const lists[], const char *name);

// Common checks of policies and rules: ports, ICMP types and two prefixes, of the settings with
// these names, with each other and with the protocol. Returns the family of the prefixes. One that
// was not given matches everything of the other's families; without either both are ::/0. The
// family is IP_ANY then, and with prefixes of both families.
enum ip_family conf_check_selectors(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *item, const struct conf_protos *protos, const char *a_name,
	struct conf_prefixes *a, const char *b_name, struct conf_prefixes *b);

bool conf_protos_have(const struct conf_protos *protos, uint16_t proto);

// One value of each list of a policy, or of a match: its source is local.
struct conf_combination {
	struct ip_prefix local, remote;
	enum ip_family family;
	uint16_t proto;
	struct proto_ports local_port, remote_port;
};

// The combinations of a policy, *n of them.
struct conf_combination *conf_combinations(const struct conf_match *m, unsigned int *n);

// Refuses more combinations of lists than there may be items, as many as there are at most in a
// list of the kind. False: that was reported.
bool conf_check_combinations(struct conf_reader *r, enum conf_kind kind,
	struct conf_match (*match)(const struct conf *c, unsigned int i));

// Finds the SAs that the settings out and in of a policy or tunnel name, and checks them with each
// other. False: either is missing. Sets sa_out, sa_in and n_sa_in.
bool conf_check_pair(struct conf_reader *r, config_setting_t *item, const struct conf_names *sas,
	struct conf_policy *p);

// The same for an item with the settings of struct conf_match; also finds the interfaces in and
// out among the ports and tunnels (conf_names_sort()).
void conf_check_match(struct conf_reader *r, enum conf_kind kind, config_setting_t *item,
	struct conf_match *m, const struct conf_names *ports, const struct conf_names *tunnels);

// Whether a matches every packet that b matches.
bool conf_match_covers(const struct conf_match *a, const struct conf_match *b);

// Checks the probe of a policy, or of a tunnel, as a policy for all packets.
void conf_check_probe(struct conf_reader *r, config_setting_t *item, const struct conf_policy *p);

// Whether two addresses are of one family; rejects the second if not. Names are those of their
// settings, both of which were accepted.
bool conf_check_same_family(struct conf_reader *r, config_setting_t *item, const char *a_name,
	const struct ip_addr *a, const char *b_name, const struct ip_addr *b);

// Whether a matches every address that b matches.
bool conf_prefix_covers(const struct ip_prefix *a, const struct ip_prefix *b);

// Elements of n without an unknown setting, which may stand for any, and of which none of these
// names (the last one is NULL) was rejected.
struct conf_set conf_set_accepted(
	const struct conf_reader *r, enum conf_kind kind, const char *const names[]);

// Reports each policy of a set that never matches, because one before it matches all that it does.
void conf_check_covered_policies(struct conf_reader *r, const struct conf_set *set);

// Whether a policy or a tunnel sends or receives by the SA with this index.
bool conf_sa_is_used(const struct conf *c, unsigned int sa);

// Index of the interface, of conf_addrs(), that has this address. -1 if there is none.
int conf_own_iface(const struct conf *c, const struct ip_addr *a);

// Index of the port that has the longest network that the address is in. -1 if there is none.
int conf_link_port(const struct conf *c, const struct ip_addr *a);

// Index of the port by which packets from src to dst leave: that with the network of dst, or that
// of the longest matching route, of equal ones the one with that source. -1 if there is none, or it
// leads into a tunnel, as the network of a tunnel does.
int conf_egress_port(const struct conf *c, const struct ip_addr *src, const struct ip_addr *dst);

// For messages: the port or tunnel that interface i of conf_addrs() is.
const char *conf_iface_ref(const struct conf_reader *r, unsigned int iface);

// The tunnel that such a route leads into, if there is no port; NULL: there is no route.
const struct conf_tunnel *conf_egress_tunnel(
	const struct conf *c, const struct ip_addr *src, const struct ip_addr *dst);

// Whether it is the network or broadcast address of the longest network that has it, of ports and
// tunnels.
bool conf_is_broadcast(const struct conf *c, const struct ip_addr *a);
