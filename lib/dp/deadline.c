// SPDX-License-Identifier: BSD-3-Clause
#include "deadline.h"

#include <rte_common.h>

void deadline_obey(struct deadline *d, void (*drop)(void *arg), void *arg)
{
	uint64_t order = atomic_load_explicit(&d->order, memory_order_acquire);

	if (order % 2 == 1)
		drop(arg);
	atomic_store_explicit(&d->done, order, memory_order_release);
}

static void until_set(struct deadlines *all, uint64_t tsc)
{
	for (unsigned int i = 0; i < all->n; i++)
		atomic_store_explicit(&all->of[i]->until, tsc, memory_order_release);
}

static void order_give(struct deadlines *all, uint64_t order)
{
	all->order = order;
	for (unsigned int i = 0; i < all->n; i++)
		atomic_store_explicit(&all->of[i]->order, order, memory_order_release);
}

static bool order_is_done(const struct deadlines *all)
{
	for (unsigned int i = 0; i < all->n; i++)
		if (atomic_load_explicit(&all->of[i]->done, memory_order_acquire) != all->order)
			return false;
	return true;
}

// A clock may go back when the machine is resumed.
static uint64_t since(uint64_t then_ms, uint64_t now_ms)
{
	return now_ms > then_ms ? now_ms - then_ms : 0;
}

void deadlines_renew(struct deadlines *all, const struct deadline_clock *now, uint32_t limit_ms)
{
	const uint64_t ms = RTE_MAX(since(all->ran_ms, now->ms), since(all->boot_ms, now->boot_ms));

	if (all->ran_ms != 0 && limit_ms != 0 && ms > limit_ms) {
		all->frozen_ms = RTE_MAX(all->frozen_ms, ms);
		all->held = true;
		until_set(all, 0); // the TSC may have been stopped
	}
	all->ran_ms = now->ms;
	all->boot_ms = now->boot_ms;
	if (!all->held)
		until_set(all, limit_ms != 0 ? (now->ms + limit_ms) * now->tsc_per_ms : UINT64_MAX);
}

// No worker is in a pass when all have carried out the first order, so that nothing is handed over
// any more: then they drop all that they hold.
static bool orders_end(struct deadlines *all)
{
	if (!order_is_done(all))
		return false;
	if (all->order % 2 == 1)
		return true;
	order_give(all, all->order + 1);
	return false;
}

void deadlines_round(struct deadlines *all, const struct deadline_clock *now, uint32_t limit_ms,
	const struct deadline_freeze *freeze, void *arg)
{
	deadlines_renew(all, now, limit_ms);
	if (all->frozen_ms != 0) {
		freeze->begin(arg, all->frozen_ms);
		all->frozen_ms = 0;
		// Also after a second freeze meanwhile a new one, so that no order counts that was
		// carried out before that.
		order_give(all, all->order + 2 - all->order % 2);
		return;
	}
	if (!all->held || !orders_end(all) || !freeze->in_effect(arg))
		return;
	all->held = false;
	deadlines_renew(all, now, limit_ms);
}
