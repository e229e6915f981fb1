// SPDX-License-Identifier: BSD-3-Clause
// Path MTUs to peers (RFC 4301 8.2.1, RFC 1191 6.3, RFC 8201 4, RFC 8899): MTUs of ICMP errors are
// confirmed by probes before it is applied, and probed again later. Kept by peer, so that it
// outlives SAs. Control thread.
#pragma once

#include "control.h"

// An ICMP error reports the MTU of a link on the path to a peer (EVENT_PMTU). It is about a probe,
// or begins a search.
void path_mtu_learn(struct control *c, const struct event *e, uint64_t now_ms);

// Path MTU to a peer if it has been learnt, else UINT16_MAX.
uint16_t path_mtu_known(const struct control *c, const struct ip_addr *peer);

// Sends the probes that are due and ends searches that got no answer. Applies MTUs for which there
// was no memory before. Call it every 100 ms.
void path_mtu_tick(struct control *c, uint64_t now_ms);

// After the configuration has been replaced: applies known MTUs to its SAs, unless learning has
// been switched off.
void path_mtus_apply(struct control *c);

void path_mtus_free(struct path_mtus *m);
