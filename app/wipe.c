// SPDX-License-Identifier: BSD-3-Clause
// Replaces the C library's free() and realloc(): memory is wiped before it is used again. Otherwise
// keys would stay in memory that stdio, OpenSSL and jansson have freed. Packets are in other
// memory. Any thread.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// A sanitizer has its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void __libc_free(void *p); // the C library's own, of which it has no header

void free(void *p)
{
	if (p == NULL)
		return;
	explicit_bzero(p, malloc_usable_size(p));
	__libc_free(p);
}

void *realloc(void *p, size_t size)
{
	size_t old = malloc_usable_size(p);
	void *moved;

	if (p != NULL && size <= old && size > old / 2)
		return p;
	if (p != NULL && size == 0) {
		free(p);
		return NULL;
	}
	moved = malloc(size);
	if (moved == NULL || p == NULL)
		return moved;
	memcpy(moved, p, size < old ? size : old);
	free(p);
	return moved;
}

#endif
