// SPDX-License-Identifier: BSD-3-Clause
// Memory that the control thread has put something else in the place of, and that workers may still
// look at until their pass ends (QSBR). Control thread.
#pragma once

#include "gateway.h"

// Takes memory of malloc(), to be freed when no worker can have it any more. NULL is fine.
void retire(struct gateway *g, void *memory);

// Frees what can be. To be called every 100 ms.
void retire_tick(struct gateway *g);

// Frees everything: workers have stopped.
void retire_all(struct gateway *g);
