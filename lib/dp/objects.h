// SPDX-License-Identifier: BSD-3-Clause
// SAs and policies that workers look up while the control thread adds and deletes them (RCU): all
// SAs, and the policies of an IKE daemon. Those of the configuration are in the snapshot, whose
// policies and rules have numbers here, with fields that change while the snapshot does not:
// counters, and the SA that a policy sends through. The snapshots of a daemon share this. lib/build
// makes it, and changes it with the configuration; lib/control/ike.c does for IKE.
#pragma once

#include "decisions.h"
#include "interface.h"
#include "ping_request.h"
#include "route_change.h"
#include "sa_ledger.h"
#include "sa_list.h"
#include "sa_udp.h"
#include "sad.h"
#include "spd.h"
#include "spd_table.h"
#include "spi_set.h"

#define IKE_SAS_MAX  0x10000
#define RULE_NUMBERS 8195 // 0 is none
#define NAT_NUMBERS  2051 // the same

// Kinds of objects that decide about packets.
enum decider { DECIDER_POLICY, DECIDER_RULE, DECIDER_NAT, DECIDERS };

// By which a kind has numbers.
static const unsigned int decider_numbers[DECIDERS] = {
	[DECIDER_POLICY] = SPD_NUMBERS, [DECIDER_RULE] = RULE_NUMBERS, [DECIDER_NAT] = NAT_NUMBERS};

struct objects {
	// The control thread replaces them when they are full.
	struct sad *_Atomic sad_in, *_Atomic sad_out;
	// SAs in UDP over IPv4, by endpoint of the peer. The control thread replaces it.
	struct sa_udp_index *_Atomic sa_out_by_udp;
	struct spi_set awaited; // of inbound SAs that are not added yet

	// By number of the policy: the policy; the SA that it sends through, NULL: none. That of a
	// tunnel that routes lead into is NULL while the tunnel is down: all routes and flows see
	// this one store. The control thread replaces them.
	const struct spd_policy *_Atomic *policy;
	struct sa_out *_Atomic *policy_out;
	atomic_bool link_down[PORTS_MAX]; // by port; the control thread writes it
	// The gateway is standby in all of its groups, the control thread writes it: a tunnel that
	// has no SA of IKE may be of any of them.
	atomic_bool standby;
	// Counters by number, which workers write (decisions.h).
	struct decisions *decisions[DECIDERS];

	struct route_table *routes;
	struct spd_table *policies; // of IKE
	struct sa_ledger *ledger;   // of all SAs; of the load and the control thread
	struct sa_list sas;
	unsigned int users; // snapshots; of the thread that builds them
	// The number that a tunnel was given last as an interface, of that thread: they go round,
	// as routes of the kernel may lead to those of former tunnels for a while.
	uint16_t last_iface;
	// All policies of IKE in the order in which they decide, for lists; of the control thread.
	const struct spd_policy **listed;
	unsigned int n_listed;
	struct ping_requests pings; // last: few packets read it
};

// NULL with errno ENOMEM, or of getrandom(2). Load or control thread.
struct objects *objects_new(unsigned int n_workers);

// Adds a user, which has to free it, too.
struct objects *objects_share(struct objects *o);

// Removes a user; the last one frees it. The SAs have been given back to the ledger. NULL is
// allowed.
void objects_free(struct objects *o);

// The table of SAs of a direction.
static inline struct sad *_Atomic *objects_sad(struct objects *o, enum sa_direction direction)
{
	return direction == SA_OUT ? &o->sad_out : &o->sad_in;
}

// Makes a table of the SAs that are listed, if the one in use has no room for n more: *grown, which
// is the caller's; else NULL. False: there is no memory. Control thread.
bool objects_sad_grow(
	const struct objects *o, enum sa_direction direction, unsigned int n, struct sad **grown);

// Puts a table that was made in the place of the one in use, and returns that: the caller's, to be
// freed with line_free() after a grace period. NULL: replaces nothing, and returns NULL. Control
// thread.
struct sad *objects_sad_replace(struct objects *o, enum sa_direction direction, struct sad *grown);

// Lets the number name the policy, and sets the SA that it sends through, but not that of a tunnel
// that is down. NULL: no worker uses the policy any more, so that its counters begin at 0 again.
// Control thread.
void objects_policy_set(struct objects *o, uint16_t number, const struct spd_policy *policy);

// Sets the SA that a policy sends through; NULL: a tunnel is down. Control thread.
void objects_out_set(struct objects *o, uint16_t number, struct sa_out *sa);

// Whether the port has a link, as far as the control thread has seen. Any thread.
static inline bool objects_link_is_up(const struct objects *o, uint16_t port)
{
	return !atomic_load_explicit(&o->link_down[port], memory_order_relaxed);
}

// Whether another gateway has the tunnels of IKE that have no SA. Any thread.
static inline bool objects_are_standby(const struct objects *o)
{
	return atomic_load_explicit(&o->standby, memory_order_relaxed);
}

// The SA that a policy sends through. Any thread.
static inline struct sa_out *objects_out(const struct objects *o, uint16_t number)
{
	return atomic_load_explicit(&o->policy_out[number], memory_order_acquire);
}
