// SPDX-License-Identifier: BSD-3-Clause
// Functions that libconfig calls in place of the C library, where conf_arena.h has no function of
// the same type, see libconfig.symbols: libconfig 1.5 does not check for failed allocations, and
// frees keys without wiping them. Without memory it is left at once, and its memory is freed with
// the arena. Numbers are read in the C locale, in which culvertd and culvertctl are all the time,
// so it needs none of its own.
#include <locale.h>

#include "conf_arena.h"

void *conf_libconfig_malloc(size_t size);
char *conf_libconfig_strdup_1_5(const char *text);
FILE *conf_libconfig_fopen(const char *path, const char *mode);
locale_t conf_libconfig_newlocale(int mask, const char *name, locale_t base);
locale_t conf_libconfig_uselocale(locale_t locale);
void conf_libconfig_freelocale(locale_t locale);

void *conf_libconfig_malloc(size_t size)
{
	return conf_alloc(1, size);
}

// Version 1.5 is compiled to call the C library's __strdup().
char *conf_libconfig_strdup_1_5(const char *text)
{
	return conf_strdup(text);
}

FILE *conf_libconfig_fopen(const char *path, const char *mode)
{
	(void)mode; // it only reads
	return conf_stream_open(path, 0);
}

locale_t conf_libconfig_newlocale(int mask, const char *name, locale_t base)
{
	(void)mask, (void)name, (void)base;
	return LC_GLOBAL_LOCALE;
}

locale_t conf_libconfig_uselocale(locale_t locale)
{
	return locale;
}

void conf_libconfig_freelocale(locale_t locale)
{
	(void)locale;
}
