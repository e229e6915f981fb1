// SPDX-License-Identifier: BSD-3-Clause
// Firewall rules: an ordered list, the first that matches decides. It is evaluated once for a
// connection, and again when the rules have changed; other packets of an accepted connection follow
// its flow. Immutable: built by the control thread as part of a snapshot, read by all workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "classifier.h"
#include "rule_model.h"

#define RULE_NAME_MAX 32

struct rule {
	char name[RULE_NAME_MAX];
	enum rule_action action;
	enum rule_scope scope;
	bool log;
	uint8_t states; // set of 1 << enum rule_state, not empty
	struct classifier_match match;
	// Numbers of policies, ascending, by any of which the packet is received or sent; none:
	// with or without a tunnel.
	const uint32_t *tunnels;
	unsigned int n_tunnels;
	unsigned int place; // among the rules of its scope; set by rule_set_new()
	uint16_t number;    // names it in decisions of flows; not 0
};

struct rule_set;

// Makes a set of copies of n rules; a packet that matches none gets the rule fallback. Returns NULL
// with errno ENOMEM, or that of librte_acl.
struct rule_set *rule_set_new(
	const struct rule rules[], unsigned int n, const struct rule *fallback);

// NULL is allowed.
void rule_set_free(struct rule_set *s);

// The rules and, last, the fallback.
unsigned int rule_set_count(const struct rule_set *s);
const struct rule *rule_set_at(const struct rule_set *s, unsigned int i);

// The rule with a number, which the set has. Workers.
const struct rule *rule_set_numbered(const struct rule_set *s, uint32_t number);

// The index of the rule that decides about a packet of the scope; of the fallback if none does.
// Workers.
unsigned int rule_set_decide(const struct rule_set *s, enum rule_scope scope,
	const struct classifier_key *packet, enum rule_state state);
