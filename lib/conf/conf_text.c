// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_reader.h"

void *conf_alloc(const struct conf_reader *r, size_t n, size_t size)
{
	(void)r;
	return conf_block_new(n, size);
}

char *conf_strdup(const struct conf_reader *r, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(conf_alloc(r, 1, size), text, size);
}

char *conf_vformat(const struct conf_reader *r, const char *fmt, va_list ap)
{
	va_list again;
	size_t size;
	char *text;

	va_copy(again, ap);
	size = (size_t)vsnprintf(NULL, 0, fmt, again) + 1;
	va_end(again);
	text = conf_alloc(r, 1, size);
	vsnprintf(text, size, fmt, ap);
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
