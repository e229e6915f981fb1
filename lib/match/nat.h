// SPDX-License-Identifier: BSD-3-Clause
// Rules of network address translation: an ordered list, asked for each end of the first packet of
// a flow; the first that matches decides. Immutable: built by the control thread as part of a
// snapshot, read by all workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "classifier.h"
#include "nat_model.h"

#define NAT_NAME_MAX 32
#define NAT_PORT_MIN 1024 // of the ports that a rule for sources chooses from, if it gives none

struct nat_rule {
	char name[NAT_NAME_MAX];
	enum nat_action action;
	enum nat_end end; // that is translated; of NAT_ACCEPT: none is
	struct classifier_match match;
	struct ip_addr first, last;  // addresses that the end becomes
	uint8_t len;                 // of their prefix, of NAT_NETMAP
	bool port;                   // instead: those of the interface that the packet leaves by
	bool log;                    // begin and end of each translated flow are recorded
	bool random;                 // new ports of sources are chosen at random
	uint16_t port_min, port_max; // new ports, host byte order; 0: none are given
	// Ports towards a destination that one source, and one peer or port, may have.
	uint32_t per_source, per_peer;
	uint16_t number; // names it in flows and counters; not 0
};

// How many ports a rule for sources chooses from.
static inline uint32_t nat_rule_ports(const struct nat_rule *r)
{
	return r->port_min != 0 ? r->port_max - r->port_min + 1u : UINT16_MAX + 1u - NAT_PORT_MIN;
}

// The address that the rule makes of another one: that of its prefix with the same host.
static inline struct ip_addr nat_rule_address(const struct nat_rule *r, const struct ip_addr *host)
{
	struct ip_addr a = r->first;

	for (unsigned int bit = r->len; bit < 128; bit++)
		a.b[bit / 8] = (uint8_t)(a.b[bit / 8] | (host->b[bit / 8] & (0x80u >> bit % 8)));
	return a;
}

// The port that a rule for destinations makes of another one: its only one, or that of the same
// place in its range.
static inline rte_be16_t nat_rule_port(const struct nat_rule *r, rte_be16_t port)
{
	const uint16_t first = (uint16_t)r->match.destination_port.min;

	if (r->port_min == 0)
		return port;
	if (r->port_min == r->port_max)
		return rte_cpu_to_be_16(r->port_min);
	return rte_cpu_to_be_16((uint16_t)(r->port_min + rte_be_to_cpu_16(port) - first));
}

struct nat_set;

// Makes a set of copies of n rules. NULL with errno ENOMEM, or that of librte_acl.
struct nat_set *nat_set_new(const struct nat_rule rules[], unsigned int n);

// NULL is allowed.
void nat_set_free(struct nat_set *s);

unsigned int nat_set_count(const struct nat_set *s);
const struct nat_rule *nat_set_at(const struct nat_set *s, unsigned int i);

// The rule with a number; NULL: the set has none. Any thread.
const struct nat_rule *nat_set_numbered(const struct nat_set *s, uint16_t number);

// Whether any rule translates the end.
bool nat_set_translates(const struct nat_set *s, enum nat_end end);

// The rules that translate an end of each of n packets, at most CLASSIFIER_KEYS_MAX; NULL: none
// does, or one of NAT_ACCEPT comes first. Workers.
void nat_set_find_each(const struct nat_set *s, enum nat_end end,
	const struct classifier_key packet[], unsigned int n, const struct nat_rule *rule[]);
