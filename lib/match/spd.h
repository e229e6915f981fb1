// SPDX-License-Identifier: BSD-3-Clause
// Security policy database (RFC 4301 4.4.1): an ordered list of policies, the first that matches
// decides. Immutable: made by the control thread as part of a snapshot, read by all workers.
//
// One list serves both directions, because selectors are local and remote: the source of an
// outbound packet is local, and the destination of an inbound one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "classifier.h"
#include "ip_view.h"
#include "sa.h"
#include "spd_model.h"

#define SPD_NAME_MAX 32
#define SPD_IN_MAX   4 // SAs that a policy receives by
#define SPD_MSS_AUTO UINT16_MAX

struct spd_policy {
	enum spd_action action;
	struct sa_out *out;           // the SAs of SPD_PROTECT; the caller keeps ownership
	struct sa_in *in[SPD_IN_MAX]; // several during a rekey
	unsigned int n_in;
	bool errors_trusted; // ICMP errors received by in may be about any traffic (RFC 4301 6.2)
	// The maximum segment size that TCP may announce through the SAs, or what fits the path of
	// out. 0: any.
	uint16_t mss_clamp;
	char name[SPD_NAME_MAX];
	uint32_t name_hash; // the same in every snapshot; of spd_new()
	// Of the peer's address, or of the name if that is not known: the same for all policies of
	// a peer, in every snapshot and with every SA. SPD_PROTECT only; of spd_new().
	uint32_t peer_hash;
	struct ip_prefix local, remote; // of one family; ::/0 means IPv4 as well
	enum ip_family family;          // of packets, further restricted by those
	uint16_t proto;                 // or PROTO_ANY
	// Of ICMP in either family: types and codes that the end may send (type << 8 | code); none
	// if min is larger than max.
	struct acl_port_range local_port, remote_port;
};

struct spd;

// Whether the policy receives by the SA.
static inline bool spd_receives(const struct spd_policy *p, const struct sa_in *sa)
{
	bool found = false;

	for (unsigned int i = 0; i < p->n_in; i++)
		found |= p->in[i] == sa;
	return found;
}

// Makes a database of copies of n policies. Returns NULL with errno ENOMEM, or as librte_acl says.
struct spd *spd_new(const struct spd_policy policies[], unsigned int n);

// NULL is allowed.
void spd_free(struct spd *spd);

// The first policy that may receive the packet of this fragment by the SA, or NULL. Ports, and of
// IPv6 the protocol, are not compared: fragments do not show them. Workers.
const struct spd_policy *spd_find_receiver(
	const struct spd *spd, const struct sa_in *sa, const struct ip_view *fragment);

// Whether one policy decides about every packet in clear that the fragment can belong to: *policy,
// or NULL if none matches. False if that depends on ports or on what else fragments do not show.
// Workers.
bool spd_decides_fragment(const struct spd *spd, const struct ip_view *fragment, bool inbound,
	const struct spd_policy **policy);

unsigned int spd_count(const struct spd *spd);
const struct spd_policy *spd_at(const struct spd *spd, unsigned int i);

// The first policy that matches each of n keys, at most CLASSIFIER_KEYS_MAX: found[i], or NULL. Of
// an outbound packet classifier_key_of(), of an inbound one that reversed. Workers.
void spd_find(const struct spd *spd, const struct classifier_key key[], unsigned int n,
	const struct spd_policy *found[]);

// The same for one packet and direction.
const struct spd_policy *spd_find_outbound(const struct spd *spd, const struct ip_view *packet);
const struct spd_policy *spd_find_inbound(const struct spd *spd, const struct ip_view *packet);
