// SPDX-License-Identifier: BSD-3-Clause
// Memory in huge pages, as far as the kernel has them ("transparent huge pages"): a miss of the TLB
// costs more than one of the caches, most of all in a virtual machine. Any thread that may
// allocate.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HUGE_PAGE ((size_t)2 << 20) // octets

// Maps len octets, a multiple of HUGE_PAGE and at such an address, zeroed. The kernel clears a page
// when it is first written. Without huge pages they are plain ones. NULL with errno ENOMEM. The
// caller unmaps it with munmap(2).
void *huge_pages_map(size_t len);

// The same for memory that is used from its start on, and may be used hardly at all: the first page
// is of plain ones, and none counts as used before it is written.
void *huge_pages_reserve(size_t len);

// Maps len octets of address space without memory, in the same form. It counts as no memory, and
// may not be accessed. NULL with errno ENOMEM.
void *huge_pages_space(size_t len);

// Gives the first len octets of a space memory as of huge_pages_map(); memory that is there stays.
// Returns 0 or -ENOMEM.
int huge_pages_open(void *space, size_t len);

// Makes the kernel clear a page now: nobody waits for that later.
void huge_page_clear(void *page);

// Gives the memory of a page back to the kernel: its octets are 0 from then on. huge: it is a huge
// page.
void huge_page_return(void *page, bool huge);
