// SPDX-License-Identifier: BSD-3-Clause
// Whose policies are in a struct spd_table (spd_table.h), and how much of it one peer may have.
#pragma once

#include <stdint.h>

#include "addr.h"

#define SPD_TABLE_TUPLES_MAX   64 // pairs of prefix lengths in use, of either family
#define SPD_TABLE_NETWORKS_MAX 64 // policies that are stored under the same two networks
#define SPD_TABLE_SHARE        4  // a holder adds while it has less than a 4th of the free slots

// A peer that adds policies, zeroed before the first. The caller keeps ownership, at least until
// all of its policies are released. Control thread.
struct spd_holder {
	unsigned int policies;                              // not yet released
	unsigned int tuples[IP_V6 + 1];                     // pairs of lengths that it uses
	uint16_t in_tuple[IP_V6 + 1][SPD_TABLE_TUPLES_MAX]; // policies by place of the pair
};
