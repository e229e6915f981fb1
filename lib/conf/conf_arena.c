// SPDX-License-Identifier: BSD-3-Clause
#include "conf_reader.h"

#include <stdlib.h>
#include <string.h>

struct block {
	struct block *next;
	size_t size;
	_Alignas(max_align_t) unsigned char octets[];
};

struct conf_arena {
	struct block *blocks;
};

static void *must(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

struct conf_arena *conf_arena_new(void)
{
	return must(calloc(1, sizeof(struct conf_arena)));
}

void conf_arena_free(struct conf_arena *arena)
{
	while (arena->blocks != NULL) {
		struct block *b = arena->blocks;

		arena->blocks = b->next;
		explicit_bzero(b->octets, b->size);
		free(b);
	}
	free(arena);
}

void *conf_alloc(const struct conf_reader *r, size_t n, size_t size)
{
	struct conf_arena *arena = r->c->arena;
	struct block *b;
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		abort();
	b = must(calloc(1, sizeof(*b) + total));
	b->size = total;
	b->next = arena->blocks;
	arena->blocks = b;
	return b->octets;
}

char *conf_strdup(const struct conf_reader *r, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(conf_alloc(r, 1, size), text, size);
}

char *conf_vformat(const struct conf_reader *r, const char *fmt, va_list ap)
{
	char *heap;

	if (vasprintf(&heap, fmt, ap) < 0)
		abort();

	char *text = conf_strdup(r, heap);

	free(heap);
	return text;
}

char *conf_format(const struct conf_reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = conf_vformat(r, fmt, ap);
	va_end(ap);
	return text;
}
