// SPDX-License-Identifier: BSD-3-Clause
#include "huge_pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include <rte_common.h>

void *huge_pages_map(size_t len)
{
	size_t room = len + HUGE_PAGE;
	uint8_t *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *start;

	if (at == MAP_FAILED) {
		errno = ENOMEM;
		return NULL;
	}
	start = RTE_PTR_ALIGN_CEIL(at, HUGE_PAGE);
	if (start > at)
		munmap(at, (size_t)(start - at));
	munmap(start + len, (size_t)(at + room - (start + len)));
	madvise(start, len, MADV_HUGEPAGE);
	return start;
}
