// SPDX-License-Identifier: BSD-3-Clause
// Open addressing at most a quarter full: a look-up reads one cache line nearly always, also of an
// SPI that is not there. The place of a removed SA is not used again, so that a reader never sees
// an SA with the SPI of another one.
#include "sad.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "dpdk_compat.h"
#include "line_memory.h"

struct sa sad_removed;

struct sad *sad_new(unsigned int n)
{
	uint32_t size = rte_align32pow2(4 * n + 4);
	struct sad *sad = line_calloc(1, sizeof(*sad) + size * sizeof(sad->entry[0]));

	if (sad == NULL)
		return NULL;
	if (getrandom(&sad->multiplier, sizeof(sad->multiplier), 0) < 0) {
		line_free(sad);
		return NULL;
	}
	sad->multiplier |= 1;
	sad->mask = size - 1;
	sad->room = size / 4;
	return sad;
}

void sad_free(struct sad *sad)
{
	line_free(sad);
}

bool sad_has_room(const struct sad *sad)
{
	return sad->room > 0;
}

static uint32_t word_of(const struct ip_addr *a)
{
	return a->w[0] ^ a->w[1] ^ a->w[2] ^ a->w[3];
}

// Ends that differ in the last octet of one address have different slots.
static uint32_t ends_slot(
	const struct sad *sad, const struct ip_addr *local, const struct ip_addr *remote)
{
	return (word_of(local) * sad->multiplier + word_of(remote)) * sad->multiplier /
	       (UINT32_MAX / SAD_ENDS + 1);
}

bool sad_has_ends(const struct sad *sad, const struct ip_addr *local, const struct ip_addr *remote)
{
	return atomic_load_explicit(
		       &sad->at_ends[ends_slot(sad, local, remote)], memory_order_relaxed) > 0;
}

// Addresses of an SA in transport mode are those of its packets, and never change.
static void ends_count(struct sad *sad, const struct sa *sa, uint32_t n)
{
	if (sa->opt.mode == SA_TRANSPORT)
		sad->at_ends[ends_slot(sad, &sa->opt.local, &sa->opt.remote)] += n;
}

bool sad_add(struct sad *sad, struct sa *sa)
{
	uint32_t slot = sad_slot(sad, sa->spi);

	if (!sad_has_room(sad))
		return false;
	while (sad_sa_at(sad, slot) != NULL)
		slot = (slot + 1) & sad->mask;
	sad->entry[slot].spi = sa->spi;
	atomic_store_explicit(&sad->entry[slot].sa, sa, memory_order_release);
	ends_count(sad, sa, 1);
	sad->room--;
	return true;
}

void sad_remove(struct sad *sad, const struct sa *sa)
{
	struct sa *at;

	for (uint32_t slot = sad_slot(sad, sa->spi); (at = sad_sa_at(sad, slot)) != NULL;
		slot = (slot + 1) & sad->mask)
		if (at == sa) {
			atomic_store_explicit(
				&sad->entry[slot].sa, &sad_removed, memory_order_release);
			ends_count(sad, sa, UINT32_MAX); // one less
		}
}

struct sa_out *sad_find_out(const struct sad *sad, rte_be32_t spi,
	bool (*fits)(const void *arg, const struct sa_out *sa), const void *arg)
{
	struct sa *sa;

	for (uint32_t slot = sad_slot(sad, spi); (sa = sad_sa_at(sad, slot)) != NULL;
		slot = (slot + 1) & sad->mask)
		if (sad->entry[slot].spi == spi && sa != &sad_removed && fits(arg, sa_out_of(sa)))
			return sa_out_of(sa);
	return NULL;
}
