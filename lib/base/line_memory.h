// SPDX-License-Identifier: BSD-3-Clause
// Memory that workers read or write for packets, and that is made with a configuration: in whole
// cache lines, so that writing one object never invalidates a cache line with another, and in huge
// pages (huge_pages.h), which small objects share: 10,000 SAs need few of them. Keys are among
// these objects: memory is wiped, or given back to the kernel, when it is freed. Any thread that
// may allocate.
#pragma once

#include <stddef.h>

// Allocates n objects of size octets together, zeroed, on cache lines of their own. No page of it
// is left for the kernel to clear when a worker writes to it. NULL with errno ENOMEM. The caller
// frees it with line_free().
void *line_calloc(size_t n, size_t size);

// NULL is allowed.
void line_free(void *memory);
