// SPDX-License-Identifier: BSD-3-Clause
// Watches the lifetimes of SAs (RFC 4301 4.4.2.1): a soft one becomes a line in the log, a hard one
// also stops the SA. In the same round it notes which SAs have carried packets since the last, and
// how much. Control thread.
#pragma once

#include "gateway.h"

// SAs that one call looks at; with more, the next one goes on behind them.
#define EXPIRY_AT_ONCE 4096

// To be called every 100 ms.
void expiry_tick(struct gateway *g, uint64_t now_ms);
