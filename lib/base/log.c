// SPDX-License-Identifier: BSD-3-Clause
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level threshold = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	threshold = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = {"error: ", "warning: ", "", "debug: "};
	char line[1024];
	va_list ap;

	if (level > threshold)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	// One call for one line: lines of two threads do not mix.
	fprintf(stderr, "culvertd: %s%s\n", names[level], line);
}
