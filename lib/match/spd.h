// SPDX-License-Identifier: BSD-3-Clause
// Security policy database (RFC 4301 4.4.1): an ordered list of policies, the first that matches
// decides. Immutable: made by the control thread as part of a snapshot, read by all workers.
//
// One list serves both directions, because selectors are local and remote: the source of an
// outbound packet is local, and the destination of an inbound one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "classifier.h"
#include "ip_view.h"
#include "spd_policy.h"

struct spd;

// Makes a database of copies of n policies and, after them, n_tunnels tunnels that routes lead
// into. Returns NULL with errno ENOMEM, or that of librte_acl.
struct spd *spd_new(const struct spd_policy policies[], unsigned int n, unsigned int n_tunnels);

// NULL is allowed.
void spd_free(struct spd *spd);

// The first policy that may receive the packet of this fragment by the SA, or NULL. Ports, and of
// IPv6 the protocol, are not compared: fragments do not show them. Workers.
const struct spd_policy *spd_find_receiver(
	const struct spd *spd, const struct sa_in *sa, const struct ip_view *fragment);

// Whether one policy decides about every packet in clear that the fragment can belong to: *policy,
// or NULL if none matches. False if that depends on ports or other fields that fragments lack.
// Workers.
bool spd_decides_fragment(const struct spd *spd, const struct ip_view *fragment, bool inbound,
	const struct spd_policy **policy);

// The policies, with the tunnels or without.
unsigned int spd_count(const struct spd *spd);
unsigned int spd_count_policies(const struct spd *spd);
const struct spd_policy *spd_at(const struct spd *spd, unsigned int i);

// The tunnel that receives by the SA; NULL: a policy does, or nothing. Workers.
const struct spd_policy *spd_find_tunnel(const struct spd *spd, const struct sa_in *sa);

// The tunnel of the SAs of IKE of a group, or NULL; sets the SA that it sends by, NULL: none.
// Control thread.
const struct spd_policy *spd_find_group(const struct spd *spd, uint64_t group);
void spd_set_out(struct spd *spd, const struct spd_policy *tunnel, struct sa_out *sa);

// The place of one of its policies: that of spd_at().
unsigned int spd_place(const struct spd *spd, const struct spd_policy *policy);

// The first policy that matches each of n keys, at most CLASSIFIER_KEYS_MAX: found[i], or NULL. Of
// an outbound packet classifier_key_of(), of an inbound one that reversed. Workers.
void spd_find(const struct spd *spd, const struct classifier_key key[], unsigned int n,
	const struct spd_policy *found[]);

// The same for one packet and direction.
const struct spd_policy *spd_find_outbound(const struct spd *spd, const struct ip_view *packet);
const struct spd_policy *spd_find_inbound(const struct spd *spd, const struct ip_view *packet);
