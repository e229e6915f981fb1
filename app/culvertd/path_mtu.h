// SPDX-License-Identifier: BSD-3-Clause
// What has been learnt of the size that the ways to peers take (RFC 4301 8.2.1, RFC 1191 6.3, RFC
// 8201 4): kept by peer, so that it outlives SAs, and forgotten after a time. Control thread.
#pragma once

#include <stdint.h>

#include "addr.h"

struct gateway;
struct event;

struct path_mtu {
	struct ip_addr peer;
	uint16_t mtu;      // octets of IP packet
	uint64_t until_ms; // then the way may have become larger
};

// At most one for each SA. Zero is an empty one.
struct path_mtus {
	struct path_mtu *of;
	unsigned int n, room;
};

// A router has said what the way to a peer takes: all SAs to it keep to that from now on.
void path_mtu_learn(struct gateway *g, const struct event *e, uint64_t now_ms);

// What the way to a peer takes, as far as that has been learnt; else UINT16_MAX.
uint16_t path_mtu_known(struct gateway *g, const struct ip_addr *peer);

// Forgets what is old: the way takes again what its first link does.
void path_mtu_tick(struct gateway *g, uint64_t now_ms);

// After the configuration has been replaced: its SAs keep to what is known, if anything still is to
// be.
void path_mtus_apply(struct gateway *g);

void path_mtus_fini(struct path_mtus *m);
