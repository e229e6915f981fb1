// SPDX-License-Identifier: BSD-3-Clause
// Memory that the control thread has replaced, and that workers may read until the end of their
// pass (QSBR). Control thread.
#pragma once

#include "control.h"

// Takes ownership of memory from malloc(), and frees it after a grace period. NULL is allowed.
void retire(struct control *c, void *memory);

// Frees what can be freed. Call it every 100 ms.
void retire_tick(struct control *c);

// Frees everything: workers have stopped.
void retire_all(struct control *c);
