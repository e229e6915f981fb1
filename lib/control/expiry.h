// SPDX-License-Identifier: BSD-3-Clause
// Lifetimes of SAs (RFC 4301 4.4.2.1): a soft one that expires becomes an event, a hard one also
// stops the SA. Also notes which SAs have carried packets since the last check, and how many
// octets. Control thread.
#pragma once

#include "control.h"

// SAs that one call checks; with more, the next call continues after them.
#define EXPIRY_AT_ONCE 4096

// Call it every 100 ms.
void expiry_tick(struct control *c, uint64_t now_ms);
