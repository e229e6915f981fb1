// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tables of IKE's SAs (ike_sas.c), policies (ike_policies.c) and peers (ike_peer.c).
// Private to them.
#pragma once

#include "ike_tables.h"
#include "sa_table.h"

struct ike_sa {
	struct object object;
	struct sa *sa;
	unsigned int place; // in the list of its direction, after the configuration's
	uint64_t number;    // a later SA has a higher one
};

struct ike_policy {
	struct object object;
	const struct spd_policy *policy;
	unsigned int slot;         // in the table of policies
	bool bypass;               // from the end of the request until it is deleted
	bool is_tunnel;            // protects, and is no trap
	unsigned int tunnel_place; // in the list of tunnels
	struct tunnel tunnel;
	uint64_t asked_ms; // when IKE was last asked for an SA; 0: never
};

// SAs with the same reqid, and their policies; or SAs of a tunnel.
struct group {
	uint64_t id;      // of sa_options_group()
	uint32_t ingress; // of all inbound SAs: the SPI of the first one; 0: there was none
	struct object *in, *out, *policies;
};

// A peer with its shares of the tables.
struct ike_peer {
	uint32_t id;
	unsigned int sas; // not yet released
	struct spd_holder policies;
};

// The object with the key in a tree of search.h, or NULL.
void *ike_find(void *const *root, const void *key, int (*compare)(const void *, const void *));

// Compares names, of struct object.
int ike_compare_names(const void *a, const void *b);

// The group with the id; a new one if there is none. NULL: there is no memory.
struct group *ike_group_get(struct control *c, uint64_t id);

// Frees a group in which nothing is any more. NULL is allowed.
void ike_group_drop_empty(struct control *c, struct group *g);

// The peer with the id, a new one if there is none; id 0: NULL. False: there is no memory.
bool ike_peer_get(struct control *c, uint32_t id, struct ike_peer **peer);

// Whether its share of SAs has room for another one. NULL: it has no share.
bool ike_peer_has_room(const struct control *c, const struct ike_peer *peer);

// Frees a peer without SAs and policies. NULL is allowed.
void ike_peer_drop_empty(struct control *c, struct ike_peer *peer);

void ike_chain_add(struct object **chain, struct object *o);
void ike_chain_remove(struct object *o);
