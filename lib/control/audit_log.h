// SPDX-License-Identifier: BSD-3-Clause
// The audit log (RFC 4303 4, RFC 4301 5.2): lines about drops that workers report. For each SA and
// reason about one line in a second, with the number of packets that no line was about. How many
// SAs and reasons are followed at once is bounded: a flood costs lines, not memory nor time.
// Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Processes an EVENT_AUDIT. Events about SAs that may be freed are ignored.
void audit_event(struct control *c, const struct event *e, uint64_t now_ms);

// Logs how many packets followed the last line. Call it every 100 ms.
void audit_tick(struct control *c, uint64_t now_ms);

// Logs the remaining counts of objects that are not audited any more: SAs that only c->retired has,
// and kinds of drops that the setting excludes now. Call it before c->retired is freed, when no
// worker reads it.
void audit_retire(struct control *c);

// The same about one SA that is freed now.
void audit_forget(struct control *c, const struct sa *sa);
