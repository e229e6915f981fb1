// SPDX-License-Identifier: BSD-3-Clause
// The wall clock, and a line of the log when it was set. Nothing depends on it but the dates in the
// log and in exported flows: readers who compare them, with the peer's for example, have to know.
// Control thread.
#pragma once

#include <stdint.h>

#define WALL_CLOCK_DATE 24 // octets of a date with its NUL

// Milliseconds since 1970. Any thread.
uint64_t wall_clock_ms(void);

// Seconds since 1970, for dates that are shown. Any thread.
uint64_t wall_clock_s(void);

// Writes such a date as of ISO 8601, in UTC: "2026-11-28T12:00:00Z". Any thread.
void wall_clock_date(char date[WALL_CLOCK_DATE], uint64_t s);

// Reads the clock; every 100 ms.
void wall_clock_tick(uint64_t now_ms);
