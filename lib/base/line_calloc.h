// SPDX-License-Identifier: BSD-3-Clause
// Memory for what one thread writes and others read.
#pragma once

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

// Allocates n objects of size octets, zeroed, in whole cache lines: no other object shares one, so
// that its writer never takes a line from under readers of something else. To be freed with free().
// NULL: no memory. Any thread.
static inline void *line_calloc(size_t n, size_t size)
{
	size_t octets = RTE_ALIGN_CEIL(n * size, (size_t)RTE_CACHE_LINE_SIZE);
	void *memory = aligned_alloc(RTE_CACHE_LINE_SIZE, octets);

	if (memory != NULL)
		memset(memory, 0, octets);
	return memory;
}
