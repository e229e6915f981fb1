// SPDX-License-Identifier: BSD-3-Clause
// How flows lose their decisions after a change that concerns some regions of addresses.
#include "flow_table.h"

void flow_redecide(struct flow_table *t, const struct flow_regions *regions)
{
	const uint64_t call = atomic_load_explicit(&t->redecided, memory_order_relaxed) + 1;

	if (!regions->any)
		return;
	for (uint32_t i = 0; i < FLOW_REGIONS / 64; i++)
		for (uint64_t bits = regions->bits[i]; bits != 0; bits &= bits - 1)
			atomic_store_explicit(
				&t->region[64 * i + (unsigned int)__builtin_ctzll(bits)], call,
				memory_order_release);
	atomic_store_explicit(&t->redecided, call, memory_order_release);
}

static bool is_stamped(
	const struct flow_table *t, const struct flow_worker *w, const struct ip_addr *a)
{
	return atomic_load_explicit(&t->region[flow_region_of(a)], memory_order_acquire) >
	       w->redecided;
}

static bool key_is_stamped(
	const struct flow_table *t, const struct flow_worker *w, const struct flow_key *key)
{
	return is_stamped(t, w, &key->addr[0]) || is_stamped(t, w, &key->addr[1]);
}

void flow_redecide_entry(const struct flow_table *t, const struct flow_worker *w, struct flow *f)
{
	if (!key_is_stamped(t, w, &f->key) && ((flow_word(f) & FLOW_TRANSLATED) == 0 ||
						      !key_is_stamped(t, w, &flow_nat(t, f)->key)))
		return;
	flow_decision_forget(f, 0);
	flow_decision_forget(f, 1);
}
