// SPDX-License-Identifier: BSD-3-Clause
// Peers of ESP in UDP (RFC 3948): follows peers that move, because the mapping of a NAT has
// changed, and keeps mappings open. Control thread.
#pragma once

#include "control.h"

// SAs that one call of peers_tick() checks; with more, the next call continues after them.
#define PEERS_AT_ONCE 4096

#define ENDPOINT_STRLEN (IP_ADDR_STRLEN + 8)

// Writes "192.0.2.1:80", "[2001:db8::1]:80", or "any" if there is no address. Returns buf or that.
const char *endpoint_format(char buf[ENDPOINT_STRLEN], const struct ip_addr *addr, rte_be16_t port);

// The endpoint of the peer of an SA, as far as it is known: an inbound one's is where packets come
// from. With the gateway's lock any thread.
struct sa_peer peer_endpoint(const struct sa *sa);

// An authenticated packet has come from another endpoint than those before (EVENT_PEER_ENDPOINT).
void peer_moved(struct control *c, const struct event *e, uint64_t now_ms);

// Packets of the SA come from this endpoint now, and its peer is sent to there.
void peer_set(struct control *c, struct sa_in *sa, const struct sa_peer *peer, uint64_t now_ms);

// A path of an outbound SA from local to the endpoint, to be freed with line_free() or set. NULL
// with errno EHOSTUNREACH (no route), ENOMEM.
struct sa_path *peer_path(struct control *c, const struct sa_out *sa, const struct ip_addr *local,
	const struct sa_peer *peer);

// Sets it: the peer is there from now on.
void peer_path_set(
	struct control *c, struct sa_out *sa, const struct sa_peer *peer, struct sa_path *path);

// Both, if there is a route. Without memory peers_tick() tries again, and this returns false.
bool peer_move(struct control *c, struct sa_out *sa, const struct sa_peer *peer);

// After a change of routes: SAs get the path that the routes to their peers give. Without memory
// returns false, and some keep the path that they have.
bool peers_reroute(struct control *c);

// After a reload: new SAs follow peers whose endpoint is known from SAs that are still there, or
// from those of the same policy in the snapshot before.
void peers_follow(struct control *c, const struct snapshot *before);

// The policy of another snapshot that has the name of p, which is number i of this one and mostly
// of that; NULL if there is none.
const struct spd_policy *policy_namesake(
	const struct spd *other, const struct spd_policy *p, unsigned int i);

// Sends NAT-keepalives where nothing else was sent, and updates SAs for which there was no memory
// before. Call it every 100 ms.
void peers_tick(struct control *c, uint64_t now_ms);
