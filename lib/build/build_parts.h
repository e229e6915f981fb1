// SPDX-License-Identifier: BSD-3-Clause
// The parts of a snapshot, each made by a file of its own. Private to lib/build. The thread that
// builds the snapshot, unless noted.
#pragma once

#include "conf.h"
#include "snapshot.h"

#define BUILD_RULE_DEFAULT "(default)" // no rule in a file can have this name

// Writes the failed part to why (size octets), and returns -error.
int build_fail(char *why, size_t size, const char *part, int error);

// Whether the first address of the network is the anycast address of its routers: of IPv6 (RFC 4291
// 2.6.1), but not with two addresses only (RFC 6164).
bool build_has_anycast(const struct conf_iface_addr *a);

// Lists configured routes, connected networks, own addresses, and destinations that are never
// forwarded, for the table: s->control->routes. False: there is no memory.
bool build_routes(struct snapshot *s, const struct conf *conf);

// Takes the groups of hops for these routes, before route_plan(), and releases them after it: those
// in the table have a user of their own. Control thread. False: there is no memory.
bool build_route_groups(struct snapshot *s, const struct conf *conf);
void build_route_groups_release(struct snapshot *s, const struct conf *conf);

// The own address of packets to a gateway: on its network; towards a link-local one of wider scope
// if there is any.
struct ip_addr build_source_towards(const struct conf_port *port, const struct ip_addr *gateway);

// The number of the port with an own address, or the last one.
uint16_t build_port_of(const struct snapshot *s, const struct ip_addr *addr);

// Takes the SAs of the configuration from the ledger into s->control. 0, or as build_fail().
int build_sas(struct snapshot *s, const struct conf *conf, char *why, size_t size);

// The second step of build_link().
void build_sas_unlink(const struct snapshot *old);

// The policies of the configuration with the SAs of s, and with numbers that are those of the
// policies of running (NULL: none) in the same words. NULL with errno ENOMEM, or of librte_acl.
struct spd *build_policies(
	const struct snapshot *s, const struct conf *conf, const struct snapshot *running);

// The firewall rules, likewise; the fallback is the default action. Ports are indexes of
// conf->ports, tunnels the numbers of policies.
struct rule_set *build_rules(
	const struct conf *conf, const struct spd *policies, const struct rule_set *running);

// The rules of network address translation, likewise.
struct nat_set *build_nat(
	const struct conf *conf, const struct spd *policies, const struct nat_set *running);

// Compares a snapshot with the one that it is to replace (NULL: none), for its carried and carry.
// Without memory, no decision is carried.
void build_carry(struct snapshot *s, const struct snapshot *running);

// Adds the routes that the plan changes, to s->carry.
void build_carry_routes(struct snapshot *s);

// A kind of object with numbers, by which flows remember it and its decisions are counted.
struct build_kind {
	size_t size, name, number;                 // of an object, and of these in it
	uint16_t first, numbers;                   // the first one, and all, with 0
	bool (*equal)(const void *, const void *); // in other words than the name
};

// Gives n objects numbers: that of the running object with the same name and words, else the next
// one after *last, which was given last, that no running object has. Returns 0 or -ENOMEM.
int build_numbers(const struct build_kind *kind, void *objects, unsigned int n, const void *running,
	unsigned int n_running, uint16_t *last);

// The packets that a rule is about; whether two are the same.
struct classifier_match build_match(const struct conf *conf, const struct conf_match *c,
	const struct spd *policies, struct classifier_lists *lists);

// The first range.
struct acl_port_range build_range(const struct conf_ranges *c);

// The values of a match but the first of each, in *to, which refers to them; NULL: there are none.
const struct classifier_lists *build_lists(struct classifier_lists *to, const struct conf_match *c);

bool build_matches_equal(const struct classifier_match *a, const struct classifier_match *b);
