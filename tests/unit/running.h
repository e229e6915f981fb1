// SPDX-License-Identifier: BSD-3-Clause
// Access of tests to a configuration that workers run: SAs, policies and rules by their names, and
// their counters. The only file of the tests that knows where lib/dp stores them. A name that does
// not exist fails the test.
#pragma once

#include "ip_view.h"
#include "snapshot.h"

struct sa_in *running_sa_in(const struct snapshot *s, const char *name);
struct sa_out *running_sa_out(const struct snapshot *s, const char *name);

// No two SAs have one name.
struct sa *running_sa(const struct snapshot *s, const char *name);

// All SAs: SA i of them, inbound ones first; NULL: there are no more.
struct sa *running_sa_at(const struct snapshot *s, unsigned int i);
unsigned int running_sas(const struct snapshot *s);

// As if an IKE daemon had added the last SA of each direction; or the configuration, as before.
void running_last_sas_of_ike(struct snapshot *s, bool of_ike);

struct sa_ledger *running_ledger(const struct snapshot *s);

const struct spd_policy *running_policy(const struct snapshot *s, const char *name);
unsigned int running_policies(const struct snapshot *s);
bool running_clamps_mss(const struct snapshot *s);

// Decisions about packets: the policy outbound, or NULL; the rule for forwarded new connections;
// the next hop, or NULL.
const struct spd_policy *running_policy_for(const struct snapshot *s, const struct ip_view *packet);
const struct rule *running_rule_for(const struct snapshot *s, const struct classifier_key *packet);
const struct nexthop *running_route(const struct snapshot *s, const struct ip_addr *to);

const struct iface *running_iface(const struct snapshot *s, unsigned int port);

// Decisions of a policy, a rule or a rule of nat: by one worker, in this configuration alone; or by
// all workers, and in earlier configurations.
struct decided running_policy_decided(
	const struct snapshot *s, const char *name, unsigned int worker);
struct decided running_policy_sum(const struct snapshot *s, const char *name);
struct decided running_rule_decided(
	const struct snapshot *s, const char *name, unsigned int worker);
struct decided running_rule_sum(const struct snapshot *s, const char *name);
struct decided running_nat_sum(const struct snapshot *s, const char *name);

// Look-ups of all policies together.
uint64_t running_lookups(const struct snapshot *s, unsigned int worker);
