// SPDX-License-Identifier: BSD-3-Clause
// Policies (RFC 4301 4.4.1) that come and go while workers look them up, as an IKE daemon adds and
// deletes them: a change costs the same with ten thousand policies as with ten. The control thread
// changes the table in place; workers read it without locks, and removed policies are freed after a
// grace period (QSBR). A list that a file configures is a struct spd.
//
// If several policies match a packet, the one with the lowest priority decides, and among equal
// ones the newest. Selectors are as in spd.h.
//
// A lookup costs a probe for each pair of prefix lengths in use. A holder that has its share of
// pairs gets no further ones: its policies are stored under a shorter pair in use, and compared in
// full. So one peer can neither fill the table nor slow the lookups of others without limit.
//
// A lookup concurrent with one change sees the table before or after it. A lookup concurrent with
// two changes may miss both policies: to replace a policy, add the new one, and remove the old one
// a grace period later.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spd_holder.h"
#include "spd_policy.h"

struct spd_table;

// A table for that many policies. Returns NULL with errno ENOMEM, or of getrandom(2).
struct spd_table *spd_table_new(unsigned int max);

// With all policies: no worker reads it any more. NULL is allowed.
void spd_table_free(struct spd_table *t);

// The slot that spd_table_add() takes next, for objects that the caller keeps by slot. Control
// thread.
unsigned int spd_table_next_slot(const struct spd_table *t);

// Adds a copy of the policy, whose family is IPv4 or IPv6; the caller keeps ownership of its SAs.
// holder: NULL has no share, and may fill the table. Returns the slot, below max, which names the
// policy until spd_table_release(); or -ENOSPC (max policies), -EDQUOT (the holder's share of
// them), -E2BIG (SPD_TABLE_NETWORKS_MAX, or the holder's share of it), -ENOMEM. Control thread.
int spd_table_add(struct spd_table *t, const struct spd_policy *policy, struct spd_holder *holder);

// Whether another peer has a policy with the same selectors that sends: it decides about the same
// packets. False: either peer is not known. Control thread.
bool spd_table_is_taken(const struct spd_table *t, const struct spd_policy *policy);

// Removes the policy in a slot: lookups that begin later do not find it. Earlier ones may, so
// workers may read it, and its slot stays in use, until spd_table_release() after a grace period.
// Control thread.
void spd_table_remove(struct spd_table *t, unsigned int slot);
void spd_table_release(struct spd_table *t, unsigned int slot);

// Sets the SA that a policy sends by; NULL: none. Control thread.
void spd_table_set_out(struct spd_table *t, unsigned int slot, struct sa_out *sa);

// Sets the action and SAs of a policy. Control thread.
void spd_table_set_action(struct spd_table *t, unsigned int slot, enum spd_action action);

// For lists: one more than the highest slot that was ever in use, and the policy in a slot below
// that, or NULL if it has none or was removed. Control thread.
unsigned int spd_table_slots(const struct spd_table *t);
const struct spd_policy *spd_table_listed(const struct spd_table *t, unsigned int slot);

// The policy in a slot that is in use. Any thread.
const struct spd_policy *spd_table_at(const struct spd_table *t, unsigned int slot);

// Whether no lookup finds anything. Any thread.
bool spd_table_is_empty(const struct spd_table *t);

// The policy that decides about each of n keys: found[i] is its slot + 1, or 0. Of an outbound
// packet classifier_key_of(), of an inbound one that reversed. Workers.
void spd_table_find(const struct spd_table *t, const struct classifier_key key[], unsigned int n,
	uint32_t found[]);

// The first policy, slot + 1, that may receive the packet of this fragment by the SA; or 0. As
// spd_find_receiver(). Workers.
uint32_t spd_table_find_receiver(
	const struct spd_table *t, const struct sa_in *sa, const struct ip_view *fragment);

// Whether one policy, slot + 1 in *found, or none, 0, decides about every packet in clear that the
// fragment can belong to. As spd_decides_fragment(). Workers.
bool spd_table_decides_fragment(
	const struct spd_table *t, const struct ip_view *fragment, bool inbound, uint32_t *found);
