// SPDX-License-Identifier: BSD-3-Clause
// Lifetimes of SAs (RFC 4301 4.4.2.1), soft and hard, in octets, packets and seconds. Control
// thread, except where noted.
//
// Each worker counts for itself, and the control thread sums the counters from time to time: an SA
// stops that much after its hard lifetime (docs/decisions/0010-lifetimes.md). The lifetime in
// packets is exact outbound, where it is a limit for sequence numbers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "alg.h"
#include "sa_model.h"

#define LIFETIME_UNLIMITED UINT64_MAX

enum lifetime_unit { LIFETIME_BYTES, LIFETIME_PACKETS, LIFETIME_SECONDS, LIFETIME_UNITS };

extern const char *const lifetime_unit_names[LIFETIME_UNITS];

struct lifetime {
	uint64_t soft[LIFETIME_UNITS], hard[LIFETIME_UNITS];
	uint64_t start_ms; // when seconds began to count; 0: not yet
	bool soft_reported;
	uint8_t hard_reported; // a bit for each unit
};

// Takes the limits that are configured, 0 where none is. The others follow: hard bytes from the
// cipher, hard packets from the number of sequence numbers, and soft is 7/8 of hard.
void lifetime_init(struct lifetime *l, const struct sa_live *live, const struct cipher_alg *cipher,
	uint64_t seq_max);

// Seconds since this was first called for the SA. now_ms is any clock that never stands at 0.
uint64_t lifetime_age(struct lifetime *l, uint64_t now_ms);

enum lifetime_event { LIFETIME_GOES_ON, LIFETIME_SOFT, LIFETIME_HARD };

// Event of an SA that has used up that much. Soft is reported once, and not after hard; hard once
// for each unit, because an inbound SA does not end with its sequence numbers. Sets *unit to its
// unit.
enum lifetime_event lifetime_check(
	struct lifetime *l, const uint64_t used[LIFETIME_UNITS], enum lifetime_unit *unit);

// Rest of the hard lifetime. Any thread.
uint64_t lifetime_left(const struct lifetime *l, enum lifetime_unit unit, uint64_t used);
