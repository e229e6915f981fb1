// SPDX-License-Identifier: BSD-3-Clause
// Destinations of the kernel's routes: next hops, or the reason why packets are dropped. Routes
// with equal ones share one struct mirror_path, so that pointers can be compared, and a hundred
// thousand routes by one router take no more memory for it than one. Control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "keyed_hash.h"
#include "linear_hash.h"

#define MIRROR_HOPS_MAX 128 // of one route

enum mirror_path_kind {
	MIRROR_HOPS, // by one of the next hops
	MIRROR_BLACKHOLE,
	MIRROR_UNREACHABLE,
	MIRROR_PROHIBIT,
	MIRROR_THROW,  // as if the table had no route
	MIRROR_OBJECT, // a next-hop object; never shown to the owner of a mirror
	MIRROR_UNUSED, // the gateway does not support the route
};

// Why a route is not used.
enum mirror_unused {
	MIRROR_USED,
	MIRROR_ENCAP,     // an encapsulation, as MPLS or segment routing
	MIRROR_ATTRIBUTE, // an unknown attribute
	MIRROR_TYPE,      // an unknown type, or one that only the kernel itself uses
	MIRROR_MANY,      // more than MIRROR_HOPS_MAX next hops
	MIRROR_TOS,       // for packets with one traffic class alone
	MIRROR_SOURCE,    // for packets from some sources alone
	MIRROR_UNUSED_REASONS
};

struct mirror_hop {
	struct ip_addr gateway; // of either family; none: the destination is on the link
	uint32_t link;          // the kernel's number of the interface; in a group: of an object
	uint32_t life;          // of that link or object: a next hop does not outlive it
	uint16_t weight;        // from 1
	bool onlink;
	uint8_t unused; // 0: the struct is compared octet by octet
};

struct mirror_path_head {
	uint8_t kind;   // enum mirror_path_kind
	uint8_t unused; // enum mirror_unused
	uint8_t tos;
	uint8_t group; // of an object: whether its next hops are objects
	uint32_t object, object_life;
	uint32_t n_hops;
};

// Immutable, but for the fields at the end.
struct mirror_path {
	struct mirror_path_head head;
	struct linear_node node;
	uint32_t refs, resolved_epoch;
	struct mirror_path *resolved; // of mirror_nexthop.h
	struct mirror_hop hop[];
};

struct mirror_paths {
	struct linear_hash table;
	struct hash_key key;
	unsigned int n_hops; // of all paths
	unsigned int max;    // of these; the owner sets it
};

// Returns 0 or -errno.
int mirror_paths_open(struct mirror_paths *p);

// All paths have been released.
void mirror_paths_close(struct mirror_paths *p);

// Returns the one path with this content, with a reference for the caller. Hops are sorted. NULL:
// there is no memory, or max is reached.
struct mirror_path *mirror_path_get(
	struct mirror_paths *p, const struct mirror_path_head *head, struct mirror_hop hop[]);

// Returns the path, with a further reference.
struct mirror_path *mirror_path_hold(struct mirror_path *path);

// Gives a reference back; NULL is allowed.
void mirror_path_release(struct mirror_paths *p, struct mirror_path *path);

// Whether the first list has all hops of the second one, whatever their weights and lives are.
bool mirror_hops_include(const struct mirror_hop hop[], uint32_t n, const struct mirror_hop other[],
	uint32_t n_other);

// Whether the kernel would show both in the same manner, whatever the lives of links and objects
// are.
bool mirror_path_is_like(const struct mirror_path *path, const struct mirror_path_head *head,
	const struct mirror_hop hop[]);
