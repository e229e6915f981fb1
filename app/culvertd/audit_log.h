// SPDX-License-Identifier: BSD-3-Clause
// The audit log (RFC 4303 4, RFC 4301 5.2): lines about drops that workers tell of. Of each SA and
// reason about one line in a second, with the number of packets that no line was about. What is
// told of at once is bounded: a flood costs lines, not memory nor time. Control thread, with the
// gateway's lock.
#pragma once

#include "gateway.h"

// Takes an EVENT_AUDIT. Events about SAs that are freed are left out.
void audit_event(const struct gateway *g, const struct event *e, uint64_t now_ms);

// Tells how many packets followed the last line. Call every 100 ms.
void audit_tick(const struct gateway *g, uint64_t now_ms);

// Tells the rest about what is audited no more: SAs that only g->retired has, and what the setting
// leaves out now. Call it before that is freed, when no worker sees it any more.
void audit_retire(const struct gateway *g);
