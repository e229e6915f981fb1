// SPDX-License-Identifier: BSD-3-Clause
#include "spd_tuples.h"

// A holder uses one more tuple while it has less than this part of the free ones: the tuple of a
// policy itself, or a shorter one. TUPLES_ANY of those in use need no free ones.
#define SHARE_EXACT   8
#define SHARE_SHORTER 4
#define TUPLES_ANY    4

// The place of the tuple, or of no tuple, 0; SPD_TABLE_TUPLES_MAX if there is none.
static unsigned int tuple_place(const struct tuples *all, uint32_t tuple)
{
	unsigned int i = 0;

	while (i < SPD_TABLE_TUPLES_MAX && tuple_get(all, i) != tuple)
		i++;
	return i;
}

static void tuple_set(struct tuples *all, unsigned int i, uint32_t tuple)
{
	unsigned int n = SPD_TABLE_TUPLES_MAX;

	atomic_store_explicit(&all->tuple[i], tuple, memory_order_relaxed);
	while (n > 0 && tuple_get(all, n - 1) == 0)
		n--;
	atomic_store_explicit(&all->n, n, memory_order_relaxed);
}

static unsigned int tuples_free(const struct tuples *all)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < SPD_TABLE_TUPLES_MAX; i++)
		n += tuple_get(all, i) == 0;
	return n > 0 ? n - 1 : 0; // one is for length 0 twice
}

// Whether the holder, or NULL, may use the tuple as part of the free ones.
static bool may_use(const struct tuples *all, uint32_t tuple, const struct spd_holder *holder,
	unsigned int part)
{
	unsigned int i = tuple_place(all, tuple), free = tuples_free(all);
	bool in_use = i < SPD_TABLE_TUPLES_MAX;
	enum ip_family family = tuple >> 16;

	if (!in_use && free == 0)
		return false;
	return holder == NULL || (in_use && holder->in_tuple[family][i] > 0) ||
	       holder->tuples[family] < TUPLES_ANY || holder->tuples[family] * part < free;
}

// Both lengths of a tuple, and their sum.
#define LOCAL(tuple)  ((tuple) >> 8 & 0xff)
#define REMOTE(tuple) ((tuple)&0xff)
#define LENGTH(tuple) (LOCAL(tuple) + REMOTE(tuple))

// Lengths that many tuples can be stored under: multiples of 8 in IPv4, of 16 in IPv6.
static uint32_t tuple_rounded(uint32_t tuple)
{
	return tuple & (tuple >> 16 == IP_V4 ? 0xfff8f8 : 0xfff0f0);
}

uint32_t tuple_choose(const struct tuples *all, uint32_t own, const struct spd_holder *holder)
{
	uint32_t best = own & 0xff0000;

	if (may_use(all, own, holder, SHARE_EXACT))
		return own;
	for (unsigned int i = 0; i <= SPD_TABLE_TUPLES_MAX; i++) {
		uint32_t other = i < SPD_TABLE_TUPLES_MAX ? tuple_get(all, i) : tuple_rounded(own);

		if (LOCAL(other) <= LOCAL(own) && REMOTE(other) <= REMOTE(own) &&
			LENGTH(other) > LENGTH(best) && may_use(all, other, holder, SHARE_SHORTER))
			best = other;
	}
	return best;
}

void tuple_hold(struct tuples *all, uint32_t tuple, struct spd_holder *holder)
{
	unsigned int i = tuple_place(all, tuple);

	if (i == SPD_TABLE_TUPLES_MAX) {
		i = tuple_place(all, 0);
		tuple_set(all, i, tuple);
	}
	all->policies[i]++;
	if (holder != NULL && holder->in_tuple[tuple >> 16][i]++ == 0)
		holder->tuples[tuple >> 16]++;
}

void tuple_drop(struct tuples *all, uint32_t tuple, struct spd_holder *holder)
{
	unsigned int i = tuple_place(all, tuple);

	if (--all->policies[i] == 0)
		tuple_set(all, i, 0);
	if (holder != NULL && --holder->in_tuple[tuple >> 16][i] == 0)
		holder->tuples[tuple >> 16]--;
}
