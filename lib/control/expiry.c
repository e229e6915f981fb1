// SPDX-License-Identifier: BSD-3-Clause
#include "expiry.h"

#include <inttypes.h>
#include <stdio.h>

#include "event_log.h"

// Only a limit of the sequence numbers themselves: one of packets was configured, so it is known.
static bool is_sequence_end(const struct sa *sa, enum lifetime_unit unit)
{
	return unit == LIFETIME_PACKETS &&
	       sa->lifetime.hard[unit] == (sa->opt.esn ? SA_ESN_MAX : SA_SEQ_MAX);
}

static void post_expiry(
	const struct sa *sa, enum lifetime_event event, enum lifetime_unit unit, uint64_t used)
{
	const char *direction = sa_direction_names[sa->opt.direction];
	char spi[16];
	const struct event_value values[EVENT_SOFT_EXPIRY_FIELDS] = {EVENT_TEXT(sa->live.name),
		EVENT_TEXT(direction), EVENT_TEXT(spi), EVENT_TEXT(lifetime_unit_names[unit]),
		EVENT_NUMBER(used), EVENT_NUMBER(sa->lifetime.soft[unit]),
		EVENT_NUMBER(sa->lifetime.hard[unit])};

	snprintf(spi, sizeof(spi), "0x%08" PRIx32, rte_be_to_cpu_32(sa->spi));
	event_log_add(event == LIFETIME_SOFT ? EVENT_SOFT_EXPIRY : EVENT_HARD_EXPIRY, values);
	if (event == LIFETIME_SOFT && is_sequence_end(sa, unit))
		event_post(SEQUENCE_NEAR_END, EVENT_TEXT(sa->live.name), EVENT_TEXT(direction),
			EVENT_TEXT(spi), EVENT_NUMBER(used), EVENT_NUMBER(sa->lifetime.hard[unit]));
}

// Whether the SA has reached a hard lifetime just now, and of which unit. Posts soft ones, too.
static bool expires(struct sa *sa, const uint64_t used[LIFETIME_UNITS], enum lifetime_unit *unit)
{
	enum lifetime_event event = LIFETIME_GOES_ON;

	if (sa->ended == DROP_NONE)
		event = lifetime_check(&sa->lifetime, used, unit);
	if (event != LIFETIME_GOES_ON)
		post_expiry(sa, event, *unit, used[*unit]);
	return event == LIFETIME_HARD;
}

// Workers do not note the time of packets. The rate is that of about the last four checks.
static void note_traffic(struct sa *sa, const uint64_t used[LIFETIME_UNITS], uint64_t now_ms)
{
	uint64_t passed_ms = RTE_MAX(now_ms - sa->looked_ms, UINT64_C(1));

	sa->looked_ms = now_ms;
	sa->rate = (3 * sa->rate + (used[LIFETIME_BYTES] - sa->seen_bytes) * 1000 / passed_ms) / 4;
	if (used[LIFETIME_BYTES] == sa->seen_bytes)
		return;
	sa->seen_bytes = used[LIFETIME_BYTES];
	sa->seen_ms = now_ms;
}

static void check(struct sa *sa, uint64_t now_ms)
{
	uint64_t used[LIFETIME_UNITS];
	enum lifetime_unit unit;

	if (sa->opt.direction == SA_OUT)
		sa_out_sample(sa_out_of(sa), now_ms);
	sa_used(sa, now_ms, used);
	note_traffic(sa, used, now_ms);
	if (expires(sa, used, &unit))
		sa_stop(sa, unit);
}

void expiry_tick(struct control *c, uint64_t now_ms)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	unsigned int n = sas->n_out + sas->n_in;

	for (unsigned int i = 0; i < RTE_MIN(n, EXPIRY_AT_ONCE); i++)
		check(sa_list_at(sas, c->expiry_next++ % n), now_ms);
}
