// SPDX-License-Identifier: BSD-3-Clause
// Elements of one size that have numbers, from 1 on, in address space of their own: an element
// never moves, so that readers reach it by its number while others are added. Memory is used as far
// as there are elements, and given back in huge pages. An element that is removed stays as it is
// until the caller, after a grace period (QSBR), frees it. Control thread; slab_at(): any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slab {
	uint8_t *memory;  // of the caller, or the slab's
	bool owned;       // the slab's
	uint32_t size;    // octets of an element
	uint32_t max;     // highest number
	uint32_t top;     // highest number that was ever taken
	uint32_t taken;   // elements in use, or removed and not yet freed
	uint32_t unused;  // chain of elements below, 0: none
	uint32_t removed; // chain of elements to be freed
	uint32_t *next;   // in the chain of an element; 0: none
	uint32_t *users;  // elements in use, by huge page
};

// memory: for elements 0 to max, of slab_len() octets, from huge_pages_reserve(), the caller's;
// NULL: the slab has its own. Returns 0 or -ENOMEM, after which slab_fini() is allowed.
int slab_init(struct slab *s, void *memory, uint32_t size, uint32_t max);
size_t slab_len(uint32_t size, uint32_t max);

// Frees all elements. A zeroed struct is allowed.
void slab_fini(struct slab *s);

// The number of an element with any content, or 0: all are in use.
uint32_t slab_take(struct slab *s);

// Frees one that no reader has found yet.
void slab_give_back(struct slab *s, uint32_t number);

// Readers that begin later do not find the element.
void slab_remove(struct slab *s, uint32_t number);

// The chain of all elements that were removed since the last call, for slab_free() after a grace
// period. 0: none.
uint32_t slab_removed(struct slab *s);
void slab_free(struct slab *s, uint32_t chain);

static inline uint32_t slab_unused(const struct slab *s)
{
	return s->max - s->taken;
}

static inline void *slab_at(const struct slab *s, uint32_t number)
{
	return s->memory + (uint64_t)number * s->size;
}
