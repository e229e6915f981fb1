// SPDX-License-Identifier: BSD-3-Clause
#include "slab.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>

#include "huge_pages.h"

static size_t octets(uint32_t n, size_t size)
{
	return RTE_ALIGN_CEIL((size_t)n * size, HUGE_PAGE);
}

static size_t pages(const struct slab *s)
{
	return octets(s->max + 1, s->size) / HUGE_PAGE;
}

size_t slab_len(uint32_t size, uint32_t max)
{
	return octets(max + 1, size);
}

int slab_init(struct slab *s, void *memory, uint32_t size, uint32_t max)
{
	*s = (struct slab){.memory = memory, .owned = memory == NULL, .size = size, .max = max};
	if (s->owned)
		s->memory = huge_pages_reserve(slab_len(size, max));
	else
		huge_page_return(memory, false); // the first page is of plain ones
	s->next = huge_pages_reserve(octets(max + 1, sizeof(s->next[0])));
	s->users = huge_pages_reserve(octets((uint32_t)pages(s), sizeof(s->users[0])));
	return s->memory != NULL && s->next != NULL && s->users != NULL ? 0 : -ENOMEM;
}

void slab_fini(struct slab *s)
{
	if (s->memory != NULL && s->owned)
		munmap(s->memory, octets(s->max + 1, s->size));
	if (s->next != NULL)
		munmap(s->next, octets(s->max + 1, sizeof(s->next[0])));
	if (s->users != NULL)
		munmap(s->users, octets((uint32_t)pages(s), sizeof(s->users[0])));
	*s = (struct slab){0};
}

// The huge pages with the first and the last octet of an element.
static uint32_t first_page(const struct slab *s, uint32_t number)
{
	return (uint32_t)((uint64_t)number * s->size / HUGE_PAGE);
}

static uint32_t last_page(const struct slab *s, uint32_t number)
{
	return (uint32_t)(((uint64_t)(number + 1) * s->size - 1) / HUGE_PAGE);
}

uint32_t slab_take(struct slab *s)
{
	uint32_t number = s->unused;

	if (number != 0)
		s->unused = s->next[number];
	else if (s->top < s->max)
		number = ++s->top;
	else
		return 0;
	s->taken++;
	for (uint32_t i = first_page(s, number); i <= last_page(s, number); i++)
		s->users[i]++;
	return number;
}

void slab_remove(struct slab *s, uint32_t number)
{
	s->next[number] = s->removed;
	s->removed = number;
}

void slab_give_back(struct slab *s, uint32_t number)
{
	s->next[number] = 0;
	slab_free(s, number);
}

uint32_t slab_removed(struct slab *s)
{
	uint32_t chain = s->removed;

	s->removed = 0;
	return chain;
}

void slab_free(struct slab *s, uint32_t chain)
{
	for (uint32_t number = chain, next; number != 0; number = next) {
		next = s->next[number];
		for (uint32_t i = first_page(s, number); i <= last_page(s, number); i++)
			if (--s->users[i] == 0)
				huge_page_return(s->memory + i * HUGE_PAGE, i > 0);
		s->next[number] = s->unused;
		s->unused = number;
		s->taken--;
	}
}
