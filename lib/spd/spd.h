// SPDX-License-Identifier: BSD-3-Clause
// Security policy database (RFC 4301 4.4.1): an ordered list of policies, the first that matches
// decides. Immutable: made by the control thread as part of a snapshot, read by all workers.
//
// One list serves both directions, because selectors speak of "local" and "remote": an outbound
// packet is local in its source, an inbound one in its destination.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "acl_field.h"
#include "addr.h"
#include "ip_view.h"
#include "sa.h"
#include "spd_model.h"

#define SPD_PROTO_ANY 0x100
#define SPD_NAME_MAX  32
#define SPD_IN_MAX    4 // SAs that a policy receives by
#define SPD_MSS_AUTO  UINT16_MAX

struct spd_policy {
	enum spd_action action;
	struct sa_out *out;           // the SAs of SPD_PROTECT; they stay the caller's
	struct sa_in *in[SPD_IN_MAX]; // several while keys are changed
	unsigned int n_in;
	bool errors_trusted; // ICMP errors out of in may be about any traffic (RFC 4301 6.2)
	// The maximum segment size that TCP may announce through the SAs, or what fits the path of
	// out. 0: any.
	uint16_t mss_clamp;
	char name[SPD_NAME_MAX];
	uint32_t name_hash; // the same in every snapshot; of spd_new()
	// Of the peer's address, or of the name if that is not known: the same for all policies of
	// a peer, in every snapshot and with every SA. SPD_PROTECT only; of spd_new().
	uint32_t peer_hash;
	struct ip_prefix local, remote; // of one family; ::/0 means IPv4 as well
	enum ip_family family;          // of packets that it is about, further restricted by those
	uint16_t proto;                 // or SPD_PROTO_ANY
	// Of ICMP in either family: types and codes that the end may send (type << 8 | code); none
	// if min is larger than max.
	struct acl_port_range local_port, remote_port;
};

struct spd;

// Whether what comes out of the SA is what the policy receives.
static inline bool spd_receives(const struct spd_policy *p, const struct sa_in *sa)
{
	bool found = false;

	for (unsigned int i = 0; i < p->n_in; i++)
		found |= p->in[i] == sa;
	return found;
}

// Makes a database of copies of n policies. Returns NULL with errno ENOMEM, or what rte_acl says.
struct spd *spd_new(const struct spd_policy policies[], unsigned int n);

// NULL is fine.
void spd_free(struct spd *spd);

// The first policy that may receive such a packet out of the SA, or NULL. Of fragments not all
// shows: ports are not looked at, nor in IPv6 the protocol. Workers.
const struct spd_policy *spd_find_receiver(
	const struct spd *spd, const struct sa_in *sa, const struct ip_view *fragment);

// Whether one policy decides about every packet, in clear, that such a fragment can be of: *policy,
// or NULL if none matches. If ports, or what else a fragment does not show, might make the
// difference, false. Workers.
bool spd_decides_fragment(const struct spd *spd, const struct ip_view *fragment, bool inbound,
	const struct spd_policy **policy);

unsigned int spd_count(const struct spd *spd);
const struct spd_policy *spd_at(const struct spd *spd, unsigned int i);

#define SPD_KEYS_MAX 128

// What a packet of either family shows to the policies in one direction. Laid out for rte_acl:
// network byte order throughout.
struct spd_key {
	uint8_t proto;
	uint8_t pad[3];
	struct ip_addr local, remote;
	rte_be32_t local_port, remote_port; // of acl_sender_port(), acl_receiver_port()
};

struct spd_key spd_key_outbound(const struct ip_view *packet);
struct spd_key spd_key_inbound(const struct ip_view *packet);

// The first policy that matches each of n keys, at most SPD_KEYS_MAX: found[i], or NULL. 16 keys at
// once cost a fraction of 16 single ones. Workers.
void spd_find(const struct spd *spd, const struct spd_key key[], unsigned int n,
	const struct spd_policy *found[]);

// The same for one packet and direction.
const struct spd_policy *spd_find_outbound(const struct spd *spd, const struct ip_view *packet);
const struct spd_policy *spd_find_inbound(const struct spd *spd, const struct ip_view *packet);
