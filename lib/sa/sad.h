// SPDX-License-Identifier: BSD-3-Clause
// Security association database: SAs of one direction by SPI (RFC 4301 4.4.2, RFC 4303 2.1). Made
// by the load or control thread; workers look SAs up while the control thread adds and removes
// others.
#pragma once

#include <stdint.h>

#include "sa.h"

// In the place of an SA that was removed.
extern struct sa sad_removed;

#define SAD_ENDS 1024 // a power of two

// The fields are those of sad.c and of the lookups below.
struct sad_entry {
	rte_be32_t spi;        // written before sa
	struct sa *_Atomic sa; // NULL: empty
};

struct sad {
	uint32_t mask;
	uint32_t multiplier; // random and odd: peers choose the SPIs of outbound SAs
	uint32_t room;       // SAs that may still be added
	// SAs in transport mode, by a hash of their ends. Written by sad_add() and sad_remove().
	uint32_t _Atomic at_ends[SAD_ENDS];
	struct sad_entry entry[];
};

// Makes a table in which there is room for n SAs. Returns NULL with errno ENOMEM, or
// that of getrandom(2).
struct sad *sad_new(unsigned int n);

// Frees the table, not the SAs. NULL is allowed.
void sad_free(struct sad *sad);

// Whether another SA can be added. Control thread.
bool sad_has_room(const struct sad *sad);

// Adds an SA, which workers find from now on. False: as many have been added as there was room for,
// also if some were removed. The thread that made the table, or the control thread.
bool sad_add(struct sad *sad, struct sa *sa);

// Removes an SA, if the table has it. Workers may have found it just before. Control thread.
void sad_remove(struct sad *sad, const struct sa *sa);

// Whether the table may have an SA in transport mode between these ends: a false answer is certain,
// a true one nearly. Any thread.
bool sad_has_ends(const struct sad *sad, const struct ip_addr *local, const struct ip_addr *remote);

static inline uint32_t sad_slot(const struct sad *sad, rte_be32_t spi)
{
	return (rte_be_to_cpu_32(spi) * sad->multiplier >> 7) & sad->mask;
}

static inline struct sa *sad_sa_at(const struct sad *sad, uint32_t slot)
{
	return atomic_load_explicit(&sad->entry[slot].sa, memory_order_acquire);
}

// Prefetches the entry of an SPI.
static inline void sad_prefetch(const struct sad *sad, rte_be32_t spi)
{
	rte_prefetch0(&sad->entry[sad_slot(sad, spi)]);
}

// The inbound SA with this SPI, or NULL. Any thread; workers for the length of a pass.
static inline struct sa_in *sad_find(const struct sad *sad, rte_be32_t spi)
{
	struct sa *sa;

	for (uint32_t slot = sad_slot(sad, spi); (sa = sad_sa_at(sad, slot)) != NULL;
		slot = (slot + 1) & sad->mask)
		if (likely(sad->entry[slot].spi == spi && sa != &sad_removed))
			return sa_in_of(sa);
	return NULL;
}

// An outbound SA with this SPI for which fits() returns true, or NULL. As above.
struct sa_out *sad_find_out(const struct sad *sad, rte_be32_t spi,
	bool (*fits)(const void *arg, const struct sa_out *sa), const void *arg);
