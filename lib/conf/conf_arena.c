// SPDX-License-Identifier: BSD-3-Clause
#include "conf_arena.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAMS_MAX 16 // libconfig opens ten files at most, one inside the other

struct link {
	struct link *next, *before;
};

struct block {
	struct link link;
	size_t size;
	_Alignas(max_align_t) unsigned char octets[];
};

static_assert(offsetof(struct block, link) == 0, "a block is found by its link");

struct conf_arena {
	struct link blocks; // of a ring
	FILE *stream[STREAMS_MAX];
	unsigned int n_streams;
	jmp_buf *no_memory; // while conf_arena_run() runs
};

// Of the conf_arena_run() that runs on this thread.
static _Thread_local struct conf_arena *current;

struct conf_arena *conf_arena_new(void)
{
	struct conf_arena *arena = calloc(1, sizeof(*arena));

	if (arena != NULL)
		arena->blocks = (struct link){&arena->blocks, &arena->blocks};
	return arena;
}

void conf_dealloc(void *octets)
{
	struct block *b;

	if (octets == NULL)
		return;
	b = (struct block *)((char *)octets - offsetof(struct block, octets));
	b->link.next->before = b->link.before;
	b->link.before->next = b->link.next;
	explicit_bzero(b->octets, b->size);
	free(b);
}

void conf_arena_free(struct conf_arena *arena)
{
	if (arena == NULL)
		return;
	while (arena->n_streams > 0)
		fclose(arena->stream[--arena->n_streams]);
	while (arena->blocks.next != &arena->blocks)
		conf_dealloc(((struct block *)arena->blocks.next)->octets);
	free(arena);
}

int conf_arena_run(struct conf_arena *arena, void (*part)(void *arg), void *arg)
{
	struct conf_arena *outer = current;
	jmp_buf no_memory;
	int rc = 0;

	arena->no_memory = &no_memory;
	current = arena;
	if (setjmp(no_memory) == 0)
		part(arg);
	else
		rc = -ENOMEM;
	current = outer;
	return rc;
}

int conf_with_arena(void (*part)(void *arg), void *arg)
{
	struct conf_arena *arena = conf_arena_new();
	int rc = arena != NULL ? conf_arena_run(arena, part, arg) : -ENOMEM;

	conf_arena_free(arena);
	return rc;
}

void *conf_alloc(size_t n, size_t size)
{
	struct block *b = NULL;
	size_t total;

	if (!__builtin_mul_overflow(n, size, &total) &&
		!__builtin_add_overflow(total, sizeof(*b), &size))
		b = calloc(1, size);
	if (b == NULL)
		longjmp(*current->no_memory, 1);
	b->size = total;
	b->link = (struct link){current->blocks.next, &current->blocks};
	b->link.next->before = &b->link;
	current->blocks.next = &b->link;
	return b->octets;
}

void *conf_resize(void *octets, size_t size)
{
	const struct block *b;
	void *moved;

	if (octets == NULL)
		return conf_alloc(1, size);
	b = (const struct block *)((const char *)octets - offsetof(struct block, octets));
	if (b->size >= size)
		return octets;
	moved = conf_alloc(1, size);
	memcpy(moved, octets, b->size);
	conf_dealloc(octets);
	return moved;
}

char *conf_strdup(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(conf_alloc(1, size), text, size);
}

char *conf_vformat(const char *fmt, va_list ap)
{
	va_list again;
	size_t size;
	char *text;

	va_copy(again, ap);
	size = (size_t)vsnprintf(NULL, 0, fmt, again) + 1;
	va_end(again);
	text = conf_alloc(1, size);
	vsnprintf(text, size, fmt, ap);
	return text;
}

char *conf_format(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = conf_vformat(fmt, ap);
	va_end(ap);
	return text;
}

FILE *conf_stream_open(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	FILE *f = NULL;

	if (fd >= 0 && current->n_streams < STREAMS_MAX)
		f = fdopen(fd, "r");
	else if (fd >= 0)
		errno = EMFILE;
	if (f != NULL) {
		current->stream[current->n_streams++] = f;
		return f;
	}
	if (fd >= 0)
		close(fd);
	if (errno == ENOMEM)
		longjmp(*current->no_memory, 1);
	return NULL;
}

int conf_stream_close(FILE *f)
{
	current->n_streams--; // the one opened last
	return fclose(f);
}
