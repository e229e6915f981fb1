// SPDX-License-Identifier: BSD-3-Clause
// Looks up policies (RFC 4301 4.4.1): those of the configuration, in whose order those of an IKE
// daemon have a place. Workers; the control thread for lists.
#pragma once

#include "snapshot.h"

// The policy that decides about each of n keys, at most CLASSIFIER_KEYS_MAX: found[i], or NULL. Of
// an outbound packet classifier_key_of(), of an inbound one that reversed.
void policy_find_each(const struct snapshot *s, const struct classifier_key key[], unsigned int n,
	const struct spd_policy *found[]);

// The same for one packet and direction.
const struct spd_policy *policy_find_outbound(
	const struct snapshot *s, const struct ip_view *packet);
const struct spd_policy *policy_find_inbound(
	const struct snapshot *s, const struct ip_view *packet);

// An own address of the family for packets that the gateway sends through a policy's tunnel; none:
// there is none. A tunnel with addresses has that. Every peer accepts one that the policy covers;
// any other is accepted only by peers that check the packet quoted by an error (RFC 4301 6.2): then
// preferably one of the protected side. In transport mode the source is part of the SA: no peer
// accepts another.
struct ip_addr policy_source(
	const struct snapshot *s, const struct spd_policy *policy, enum ip_family family);

// As spd_find_receiver() and spd_decides_fragment().
const struct spd_policy *policy_find_receiver(
	const struct snapshot *s, const struct sa_in *sa, const struct ip_view *fragment);
bool policy_decides_fragment(const struct snapshot *s, const struct ip_view *fragment, bool inbound,
	const struct spd_policy **policy);
