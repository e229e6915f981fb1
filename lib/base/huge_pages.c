// SPDX-License-Identifier: BSD-3-Clause
#include "huge_pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include <rte_common.h>

static void *map_aligned(size_t len, int prot, int flags)
{
	size_t room = len + HUGE_PAGE;
	uint8_t *at = mmap(NULL, room, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	uint8_t *start;

	if (at == MAP_FAILED) {
		errno = ENOMEM;
		return NULL;
	}
	start = RTE_PTR_ALIGN_CEIL(at, HUGE_PAGE);
	if (start > at)
		munmap(at, (size_t)(start - at));
	munmap(start + len, (size_t)(at + room - (start + len)));
	return start;
}

void *huge_pages_map(size_t len)
{
	void *start = map_aligned(len, PROT_READ | PROT_WRITE, 0);

	if (start != NULL)
		madvise(start, len, MADV_HUGEPAGE);
	return start;
}

void *huge_pages_reserve(size_t len)
{
	uint8_t *start = map_aligned(len, PROT_READ | PROT_WRITE, MAP_NORESERVE);

	if (start != NULL && len > HUGE_PAGE)
		madvise(start + HUGE_PAGE, len - HUGE_PAGE, MADV_HUGEPAGE);
	return start;
}

void *huge_pages_space(size_t len)
{
	return map_aligned(len, PROT_NONE, 0);
}

int huge_pages_open(void *space, size_t len)
{
	if (mprotect(space, len, PROT_READ | PROT_WRITE) < 0)
		return -ENOMEM;
	madvise(space, len, MADV_HUGEPAGE);
	return 0;
}

void huge_page_clear(void *page)
{
	madvise(page, HUGE_PAGE, MADV_POPULATE_WRITE);
}

// By another mapping in its place: the kernel refuses MADV_DONTNEED for memory that is locked.
void huge_page_return(void *page, bool huge)
{
	void *at = mmap(page, HUGE_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (at != MAP_FAILED && huge)
		madvise(at, HUGE_PAGE, MADV_HUGEPAGE);
}
