// SPDX-License-Identifier: BSD-3-Clause
#include "lifetime.h"

#include <rte_common.h>

const char *const lifetime_unit_names[LIFETIME_UNITS] = {"bytes", "packets", "seconds"};

void lifetime_init(struct lifetime *l, const struct sa_live *live, const struct cipher_alg *cipher,
	uint64_t seq_max)
{
	const uint64_t soft[] = {live->soft_bytes, live->soft_packets, live->soft_seconds};
	const uint64_t hard[] = {live->hard_bytes, live->hard_packets, live->hard_seconds};
	const uint64_t most[] = {cipher->bytes_max, seq_max, LIFETIME_UNLIMITED};

	*l = (struct lifetime){0};
	for (unsigned int i = 0; i < LIFETIME_UNITS; i++) {
		l->hard[i] = hard[i] != 0 ? hard[i] : most[i];
		if (soft[i] != 0)
			l->soft[i] = RTE_MIN(soft[i], l->hard[i]);
		else if (l->hard[i] != LIFETIME_UNLIMITED)
			l->soft[i] = l->hard[i] - l->hard[i] / 8;
		else
			l->soft[i] = LIFETIME_UNLIMITED;
	}
}

uint64_t lifetime_age(struct lifetime *l, uint64_t now_ms)
{
	if (l->start_ms == 0)
		l->start_ms = now_ms;
	return (now_ms - l->start_ms) / 1000;
}

// Whether a limit of a unit without a bit in reported is reached, and which.
static bool reached(const uint64_t limit[LIFETIME_UNITS], const uint64_t used[LIFETIME_UNITS],
	uint8_t reported, enum lifetime_unit *unit)
{
	for (unsigned int i = 0; i < LIFETIME_UNITS; i++) {
		if ((reported >> i & 1) == 0 && limit[i] != LIFETIME_UNLIMITED &&
			used[i] >= limit[i]) {
			*unit = (enum lifetime_unit)i;
			return true;
		}
	}
	return false;
}

enum lifetime_event lifetime_check(
	struct lifetime *l, const uint64_t used[LIFETIME_UNITS], enum lifetime_unit *unit)
{
	if (reached(l->hard, used, l->hard_reported, unit)) {
		l->hard_reported |= (uint8_t)(1u << *unit);
		l->soft_reported = true;
		return LIFETIME_HARD;
	}
	if (!l->soft_reported && reached(l->soft, used, 0, unit)) {
		l->soft_reported = true;
		return LIFETIME_SOFT;
	}
	return LIFETIME_GOES_ON;
}

uint64_t lifetime_left(const struct lifetime *l, enum lifetime_unit unit, uint64_t used)
{
	if (l->hard[unit] == LIFETIME_UNLIMITED)
		return LIFETIME_UNLIMITED;
	return l->hard[unit] - RTE_MIN(used, l->hard[unit]);
}
