// SPDX-License-Identifier: BSD-3-Clause
// Which pairs of prefix lengths a struct spd_table has in use, and who may use one more. A tuple is
// a family and a pair of lengths. Private to spd_table.c. The control thread changes the tuples,
// workers read the list of them.
#pragma once

#include <stdatomic.h>

#include <rte_common.h>

#include "spd_holder.h"

struct tuples {
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_uint n; // none after
	_Atomic uint32_t tuple[SPD_TABLE_TUPLES_MAX];
	uint32_t policies[SPD_TABLE_TUPLES_MAX]; // of the control thread
};

static inline uint32_t tuple_get(const struct tuples *all, unsigned int i)
{
	return atomic_load_explicit(&all->tuple[i], memory_order_relaxed);
}

// The tuple under which a policy of the holder, or NULL, is stored: its own, else the longest
// shorter one. It has a place, or gets one by tuple_hold().
uint32_t tuple_choose(const struct tuples *all, uint32_t own, const struct spd_holder *holder);

// Counts another policy of a tuple, and one less.
void tuple_hold(struct tuples *all, uint32_t tuple, struct spd_holder *holder);
void tuple_drop(struct tuples *all, uint32_t tuple, struct spd_holder *holder);
