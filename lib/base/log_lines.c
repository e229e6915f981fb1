// SPDX-License-Identifier: BSD-3-Clause
// The lines of a longer text. A file of its own: tests put their own log_line() in its place.
#include <string.h>
#include <sys/types.h>

#include "log.h"

void log_lines(enum log_level level, const char *before, const char *lines, size_t len)
{
	for (const char *end = lines + len, *next; lines < end; lines = next + 1) {
		next = memchr(lines, '\n', (size_t)(end - lines));
		next = next != NULL ? next : end;
		log_line(level, "%s%.*s", before, (int)(next - lines), lines);
	}
}

static ssize_t failures_write(void *cookie, const char *lines, size_t len)
{
	(void)cookie;
	log_lines(LOG_LEVEL_ERROR, "", lines, len);
	return (ssize_t)len;
}

FILE *log_failures(void)
{
	static FILE *failures;

	if (failures != NULL)
		return failures;
	if (log_is_journal())
		failures = fopencookie(NULL, "w", (cookie_io_functions_t){.write = failures_write});
	if (failures != NULL)
		setvbuf(failures, NULL, _IOLBF, 0);
	else
		failures = stderr;
	return failures;
}
