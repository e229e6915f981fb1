// SPDX-License-Identifier: BSD-3-Clause
// Tells when the wall clock is set. Nothing depends on it but the dates in the log: who compares
// those, with the peer's for example, is to know. Control thread.
#pragma once

#include <stdint.h>

// Looks at it; every 100 ms.
void wall_clock_tick(uint64_t now_ms);
