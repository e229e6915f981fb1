// SPDX-License-Identifier: BSD-3-Clause
// Repeated work of the control thread: handles the events that workers post, and everything that is
// due with time. Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Announces the own addresses, when workers run.
void events_start(struct control *c);

// Handles the events of all workers. Returns whether there were any. Call it often.
bool events_drain(struct control *c, uint64_t now_ms);

void event_handle(struct control *c, const struct event *e, uint64_t now_ms);

// Does all work that is due. Call it every 100 ms.
void events_tick(struct control *c, uint64_t now_ms);
