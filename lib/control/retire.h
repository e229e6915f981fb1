// SPDX-License-Identifier: BSD-3-Clause
// Memory that the control thread has replaced, and that workers may read until the end of their
// pass (QSBR). Control thread.
#pragma once

#include "control.h"

// Calls release after a grace period, but not while a snapshot is made from the running one.
void retire_call(struct control *c, void (*release)(struct control *c, void *arg), void *arg);

// Takes ownership of memory from line_calloc(), and frees it after a grace period. NULL is allowed.
void retire(struct control *c, void *memory);

// Frees all objects whose grace period is over. Call it every 100 ms.
void retire_tick(struct control *c);

// Frees everything, and makes all calls: workers have stopped.
void retire_all(struct control *c);

// Whether the SA that an event of this generation names is still allocated.
bool retire_keeps_sas(const struct control *c, uint32_t generation);
