// SPDX-License-Identifier: BSD-3-Clause
// Path MTUs to peers (RFC 4301 8.2.1, RFC 1191 6.3, RFC 8201 4, RFC 8899): what ICMP errors report
// is probed before and after it is believed. Kept by peer, so that it outlives SAs. Control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "path_search.h"

struct gateway;
struct event;

struct path_mtu {
	struct ip_addr peer;
	struct path_search search;
};

// At most one for each SA. Zero is an empty one.
struct path_mtus {
	struct path_mtu *of;
	unsigned int n, room;
	bool unapplied; // by some SA, for want of memory
};

// An ICMP error says what the path to a peer takes. Either it is about a probe, or it begins a
// search.
void path_mtu_learn(struct gateway *g, const struct event *e, uint64_t now_ms);

// Path MTU to a peer, as far as it has been learnt; else UINT16_MAX.
uint16_t path_mtu_known(struct gateway *g, const struct ip_addr *peer);

// Sends the probes that are due and ends searches that got no answer. Applies what could not be
// applied for want of memory.
void path_mtu_tick(struct gateway *g, uint64_t now_ms);

// After the configuration has been replaced: its SAs keep to what is known, unless learning has
// been switched off.
void path_mtus_apply(struct gateway *g);

void path_mtus_fini(struct path_mtus *m);
