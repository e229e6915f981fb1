// SPDX-License-Identifier: BSD-3-Clause
#include "wall_clock.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "log.h"

#define JUMP_MS 1000 // more than it is ever slewed between two calls

uint64_t wall_clock_ms(void)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000;
}

void wall_clock_tick(uint64_t now_ms)
{
	static int64_t ahead_ms; // of our clock, when both were last read
	static bool known;
	int64_t ahead, jump;

	ahead = (int64_t)wall_clock_ms() - (int64_t)now_ms;
	jump = ahead - ahead_ms;
	if (known && llabs(jump) >= JUMP_MS)
		log_warn("the wall clock was set %" PRId64 " seconds %s: only timestamps in the "
			 "log and in exported flows are affected",
			((int64_t)llabs(jump) + 500) / 1000, jump > 0 ? "ahead" : "back");
	ahead_ms = ahead;
	known = true;
}

uint64_t wall_clock_s(void)
{
	return (uint64_t)time(NULL);
}

void wall_clock_date(char date[WALL_CLOCK_DATE], uint64_t s)
{
	const time_t at = (time_t)s;
	struct tm utc;

	if (gmtime_r(&at, &utc) == NULL ||
		strftime(date, WALL_CLOCK_DATE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		date[0] = '\0';
}
