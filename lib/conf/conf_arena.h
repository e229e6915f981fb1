// SPDX-License-Identifier: BSD-3-Clause
// Memory that lives as long as a configuration and is wiped with it: of lib/conf and of libconfig
// (conf_libconfig.c). Code that allocates runs in conf_arena_run(), which returns at once when
// there is no memory, so that the code does not have to check for that. Private to lib/conf. Any
// thread; two threads at the same time must use different arenas.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct conf_arena;

// NULL without memory.
struct conf_arena *conf_arena_new(void);

// Wipes and frees all its blocks, and closes the streams that are still open. NULL is allowed.
void conf_arena_free(struct conf_arena *arena);

// Runs part(arg), whose memory comes from the arena. Returns 0; or -ENOMEM, when part was left
// where memory was missing: then the arena is good for nothing but conf_arena_free(). part must
// hold nothing that only its caller could free, and no lock, when it allocates.
int conf_arena_run(struct conf_arena *arena, void (*part)(void *arg), void *arg);

// The same with an arena for that alone.
int conf_with_arena(void (*part)(void *arg), void *arg);

// The rest is for parts that run, and for libconfig (libconfig.symbols). Octets are zeroed, and
// wiped when they are freed.
void *conf_alloc(size_t n, size_t size);
void *conf_resize(void *octets, size_t size); // NULL is allowed; it never shrinks
void conf_dealloc(void *octets);              // before the arena is; NULL is allowed
char *conf_strdup(const char *text);
char *conf_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
char *conf_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Opens a file for reading, with further flags of open(). NULL with errno if that fails.
FILE *conf_stream_open(const char *path, int flags);

// The one opened last. Returns 0, as fclose().
int conf_stream_close(FILE *f);
