// SPDX-License-Identifier: BSD-3-Clause
// Logs that the wall clock was set. Nothing depends on it but the dates in the log: readers who
// compare them, with the peer's for example, have to know. Control thread.
#pragma once

#include <stdint.h>

// Reads the clock; every 100 ms.
void wall_clock_tick(uint64_t now_ms);
