// SPDX-License-Identifier: BSD-3-Clause
#include "failing_alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <rte_malloc.h>

// The C library's own, of which it has no header.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

static unsigned int left; // allocations until one fails; 0: none does
static bool for_ever, failed;
static atomic_long live;

void alloc_fail(unsigned int n, bool for_good)
{
	left = n;
	for_ever = for_good;
	failed = false;
}

bool alloc_fail_end(void)
{
	left = 0;
	return failed;
}

long alloc_live(void)
{
	return live;
}

static bool fails(void)
{
	if (left == 0 || --left > 0)
		return false;
	left = for_ever;
	failed = true;
	errno = ENOMEM;
	return true;
}

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

void *malloc(size_t size)
{
	return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	void *moved;

	if (p == NULL)
		return malloc(size);
	if (fails())
		return NULL;
	moved = __libc_realloc(p, size);
	live -= moved == NULL && size == 0; // freed
	return moved;
}

void *memalign(size_t align, size_t size)
{
	return fails() ? NULL : counted(__libc_memalign(align, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	void *block = memalign(align, size);

	if (block == NULL)
		return ENOMEM;
	*p = block;
	return 0;
}

void free(void *p)
{
	live -= p != NULL;
	__libc_free(p);
}

// The gateway's own: calls come here (--wrap of the linker).
void *__real_line_calloc(size_t n, size_t size);
void __real_line_free(void *p);

void *__wrap_line_calloc(size_t n, size_t size);
void __wrap_line_free(void *p);

void *__wrap_line_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_line_calloc(n, size));
}

void __wrap_line_free(void *p)
{
	live -= p != NULL;
	__real_line_free(p);
}

// DPDK's, as its other libraries and ours call them.
static void *next(const char *name)
{
	unsigned int left_before = left;
	void *function;

	left = 0; // the look-up may allocate
	function = dlsym(RTLD_NEXT, name);
	left = left_before;
	return function;
}

void *rte_malloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	void *(*f)(const char *, size_t, unsigned int, int) = next(__func__);

	return fails() ? NULL : f(type, size, align, socket);
}

void *rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	void *(*f)(const char *, size_t, unsigned int, int) = next(__func__);

	return fails() ? NULL : f(type, size, align, socket);
}

void *rte_malloc(const char *type, size_t size, unsigned int align)
{
	void *(*f)(const char *, size_t, unsigned int) = next(__func__);

	return fails() ? NULL : f(type, size, align);
}

void *rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	void *(*f)(const char *, size_t, unsigned int) = next(__func__);

	return fails() ? NULL : f(type, size, align);
}
