// SPDX-License-Identifier: BSD-3-Clause
// A chunk is one huge page, filled with objects from its start to its end; objects of more than an
// eighth of it have pages of their own. Sizes are rounded up to classes, four for each power of
// two, and memory that is freed is used again for an object of its class. So chunks are never
// freed, and a class keeps the memory that it once needed.
#include "line_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>

#include "huge_pages.h"

#define LINE ((size_t)RTE_CACHE_LINE_SIZE)

// A sanitizer has its own allocator, which reports memory that is used after it was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// Not where its objects begin, so that it reports a free() of one as well.
static void *memory_take(size_t size)
{
	uint8_t *memory = aligned_alloc(LINE, RTE_ALIGN_CEIL(size, LINE) + LINE);

	return memory != NULL ? memory + LINE : NULL;
}

void line_free(void *memory)
{
	if (memory != NULL)
		free((uint8_t *)memory - LINE);
}

#else

#define SHARED_MAX (HUGE_PAGE / 8) // octets of the largest object in a chunk
#define CLASSES    45              // up to that of SHARED_MAX

// In front of objects, at the start of their pages.
struct chunk {
	size_t len; // octets of pages
	// Not of an object with pages of its own, which begins here:
	size_t used __rte_cache_aligned;    // octets of the chunk, these included
	uint8_t class_at[HUGE_PAGE / LINE]; // class of the object that begins at this line, 0: none
};

#define OWN_PAGES offsetof(struct chunk, used) // place of an object with pages of its own

struct unused {
	struct unused *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *newest;           // the only one with room; under the lock
static struct unused *unused[CLASSES]; // freed objects by class; under the lock

// The class of a size, which is rounded up to that of the class.
static unsigned int class_of(size_t *size)
{
	size_t lines = RTE_MAX(RTE_ALIGN_CEIL(*size, LINE) / LINE, (size_t)1);
	unsigned int shift = lines > 8 ? 61 - (unsigned int)__builtin_clzl(lines - 1) : 0;

	lines = RTE_ALIGN_CEIL(lines, (size_t)1 << shift);
	*size = lines * LINE;
	return 4 * shift + (unsigned int)(lines >> shift);
}

// Octets of an object of a class.
static size_t class_size(unsigned int class)
{
	unsigned int shift = class > 8 ? (class - 5) / 4 : 0;

	return ((size_t)(class - 4 * shift) << shift) * LINE;
}

static struct chunk *pages_take(size_t len)
{
	struct chunk *c = huge_pages_map(len);

	if (c != NULL)
		c->len = len;
	return c;
}

static void *own_pages_take(size_t size)
{
	struct chunk *c = pages_take(RTE_ALIGN_CEIL(OWN_PAGES + size, HUGE_PAGE));

	return c != NULL ? RTE_PTR_ADD(c, OWN_PAGES) : NULL;
}

// Allocates from the unused part of the newest chunk. Under the lock.
static void *object_cut(size_t size)
{
	struct chunk *c = newest;
	void *memory;

	if (c == NULL || c->used + size > HUGE_PAGE) {
		c = pages_take(HUGE_PAGE);
		if (c == NULL)
			return NULL;
		c->used = sizeof(*c);
		newest = c;
	}
	memory = RTE_PTR_ADD(c, c->used);
	c->used += size;
	return memory;
}

// Location of the class of an object.
static uint8_t *class_of_object(void *memory)
{
	struct chunk *c = RTE_PTR_ALIGN_FLOOR(memory, HUGE_PAGE);

	return &c->class_at[RTE_PTR_DIFF(memory, c) / LINE];
}

static void *object_take(size_t size)
{
	unsigned int class = class_of(&size);
	struct unused *memory;

	pthread_mutex_lock(&lock);
	memory = unused[class];
	if (memory != NULL)
		unused[class] = memory->next;
	else
		memory = object_cut(size);
	if (memory != NULL)
		*class_of_object(memory) = (uint8_t) class;
	pthread_mutex_unlock(&lock);
	return memory;
}

static void *memory_take(size_t size)
{
	return size > SHARED_MAX ? own_pages_take(size) : object_take(size);
}

static void object_give(struct unused *memory)
{
	unsigned int class = *class_of_object(memory);

	if (class == 0 || class >= CLASSES)
		abort(); // it was freed before, or is not from here
	explicit_bzero(memory, class_size(class));
	pthread_mutex_lock(&lock);
	*class_of_object(memory) = 0;
	memory->next = unused[class];
	unused[class] = memory;
	pthread_mutex_unlock(&lock);
}

void line_free(void *memory)
{
	struct chunk *c = RTE_PTR_ALIGN_FLOOR(memory, HUGE_PAGE);

	if (memory == NULL)
		return;
	if (memory == RTE_PTR_ADD(c, OWN_PAGES))
		munmap(c, c->len); // the kernel wipes it before it is used again
	else
		object_give(memory);
}

#endif

void *line_calloc(size_t n, size_t size)
{
	void *memory = NULL;
	size_t octets;

	if (!__builtin_mul_overflow(n, size, &octets))
		memory = memory_take(octets);
	if (memory == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	return memset(memory, 0, octets);
}
