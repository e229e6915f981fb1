// SPDX-License-Identifier: BSD-3-Clause
// A policy (RFC 4301 4.4.1.2) and its selectors, the same in a database (spd.h) and in a table
// (spd_table.h). Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "addr.h"
#include "classifier.h"
#include "ip_view.h"
#include "sa.h"
#include "spd_model.h"

#define SPD_NAME_MAX 32
#define SPD_IN_MAX   4 // SAs that a policy receives by
#define SPD_MSS_AUTO UINT16_MAX

struct spd_policy {
	// The control thread changes that of a policy of IKE.
	enum spd_action _Atomic action;
	// The SA that SPD_PROTECT sends by; the caller keeps ownership. NULL: IKE has none for it.
	// The control thread replaces that of a policy or tunnel of IKE.
	struct sa_out *_Atomic out;
	struct sa_in *in[SPD_IN_MAX]; // that it receives by; several during a rekey
	unsigned int n_in;
	uint64_t group;      // SAs of IKE of this group are received by; 0: in[] is
	bool errors_trusted; // ICMP errors received by in may be about any traffic (RFC 4301 6.2)
	// The maximum segment size that TCP may announce through the SAs, or the one that fits the
	// path of out. 0: any.
	uint16_t mss_clamp;
	uint16_t mtu; // octets of the largest packet into a tunnel; 0: as its path allows
	// The peer's address, if it is known and belongs to no other peer.
	struct ip_addr peer;
	uint32_t peer_id;  // of IKE: number of the peer's identity; 0: none
	uint32_t priority; // in a struct spd_table: lower decides first
	char name[SPD_NAME_MAX];
	uint32_t name_hash; // the same in every snapshot; of spd_policy_set_hashes()
	// Hash of the peer's identity if IKE names it, else of its address, or of the policy's name
	// if that is not known: the same for all policies of a peer, in every snapshot and with
	// every SA. SPD_PROTECT only; of spd_policy_set_hashes().
	uint32_t peer_hash;
	uint16_t number; // names it in decisions of flows; of the caller, or of spd_table_add()
	// Of a tunnel that routes lead into: its number as an interface, of lib/dp/interface.h.
	// Routes choose it, and no selectors: those match everything. 0: it is no such tunnel.
	uint16_t iface;
	enum spd_source_check source_check;  // of packets out of such a tunnel
	struct ip_prefix local, remote;      // of one family; ::/0 means IPv4 as well
	enum ip_family family;               // of packets, further restricted by those
	uint16_t proto;                      // or PROTO_ANY
	const struct classifier_lists *more; // source is local; NULL: there are no lists
	// Of ICMP in either family: types and codes that the end may send (type << 8 | code); none
	// if min is larger than max.
	struct acl_port_range local_port, remote_port;
};

// Numbers of policies: 0 is none, up to SPD_MAX are for a struct spd and the one that replaces it,
// and those of a struct spd_table follow, by slot.
#define SPD_MAX       0x8000
#define SPD_TABLE_MAX 0x7fff
#define SPD_NUMBERS   (1 + SPD_MAX + SPD_TABLE_MAX)

static inline uint16_t spd_table_number(unsigned int slot)
{
	return (uint16_t)(1 + SPD_MAX + slot);
}

// Ports of outbound packets.
struct spd_ports {
	struct acl_port_range local, remote;
};

// Whether the policy receives by the SA, or by one that another replaces or is replaced by: both
// are found for a moment while a configuration is replaced.
static inline bool spd_receives(const struct spd_policy *p, const struct sa_in *sa)
{
	bool found = false;

	if (p->group != 0)
		return sa_options_group(&sa->sa.opt) == p->group;
	for (unsigned int i = 0; i < p->n_in; i++)
		found |= sa_in_is_same(p->in[i], sa);
	return found;
}

// Sets name_hash and peer_hash.
void spd_policy_set_hashes(struct spd_policy *p);

// Whether both match the same packets.
bool spd_policy_same_selectors(const struct spd_policy *a, const struct spd_policy *b);

// The same, and whether it may match the packet between two ends, for a policy with lists.
bool spd_policy_lists_have(const struct spd_policy *p, enum ip_family family);
bool spd_policy_lists_match(const struct spd_policy *p, const struct ip_view *fragment,
	const struct ip_addr *local, const struct ip_addr *remote);

// The prefix of an end that has the address; NULL: none has.
const struct ip_prefix *spd_policy_local_of(
	const struct spd_policy *p, const struct ip_addr *local);
const struct ip_prefix *spd_policy_remote_of(
	const struct spd_policy *p, const struct ip_addr *remote);

// Whether it can match packets of this family.
static inline bool spd_policy_has_family(const struct spd_policy *p, enum ip_family family)
{
	return p->more == NULL ? classifier_has_family(p->family, &p->local, &p->remote, family)
			       : spd_policy_lists_have(p, family);
}

static inline bool spd_policy_restricts_ports(const struct spd_policy *p)
{
	return p->local_port.max != ACL_PORT_OPAQUE || p->remote_port.max != ACL_PORT_OPAQUE;
}

// The ports that a policy matches: any of up to two pairs of ranges. Returns their number. Of ICMP
// the ends may send different types: one pair for each of them as the sender.
static inline unsigned int spd_policy_ports(const struct spd_policy *p, struct spd_ports pair[2])
{
	const struct acl_port_range receiver = {ACL_PORT_RECEIVER, ACL_PORT_RECEIVER};
	unsigned int n = 0;

	if (!acl_is_icmp(p->proto) || !spd_policy_restricts_ports(p)) {
		pair[0] = (struct spd_ports){p->local_port, p->remote_port};
		return 1;
	}
	if (p->local_port.min <= p->local_port.max)
		pair[n++] = (struct spd_ports){p->local_port, receiver};
	if (p->remote_port.min <= p->remote_port.max)
		pair[n++] = (struct spd_ports){receiver, p->remote_port};
	return n;
}

// Whether it is a tunnel that routes lead into. NULL: there is no policy.
static inline bool spd_policy_is_routed(const struct spd_policy *p)
{
	return p != NULL && p->iface != 0;
}

// Whether the policy depends on fields that fragments lack: in IPv6 even the protocol.
static inline bool spd_policy_is_selective(const struct spd_policy *p)
{
	return spd_policy_restricts_ports(p) ||
	       (p->proto != PROTO_ANY && spd_policy_has_family(p, IP_V6));
}

// Whether the policy may match the packet between these ends that the fragment belongs to.
static inline bool spd_policy_may_match(const struct spd_policy *p, const struct ip_view *fragment,
	const struct ip_addr *local, const struct ip_addr *remote)
{
	enum ip_family family = ip_addr_family(local);

	if (unlikely(p->more != NULL))
		return spd_policy_lists_match(p, fragment, local, remote);
	return spd_policy_has_family(p, family) && ip_prefix_contains(&p->local, local) &&
	       ip_prefix_contains(&p->remote, remote) &&
	       (p->proto == PROTO_ANY || p->proto == fragment->proto || family == IP_V6);
}
