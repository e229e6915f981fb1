// SPDX-License-Identifier: BSD-3-Clause
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static enum log_level threshold = LOG_LEVEL_INFO;
static bool to_journal;

// systemd.exec(5): JOURNAL_STREAM has device and inode of the journal's stream.
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream != NULL && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void log_start(void)
{
	to_journal = is_journal(STDERR_FILENO);
}

void log_set_level(enum log_level level)
{
	threshold = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = {"error: ", "warning: ", "", "debug: "};
	static const char priorities[] = {'3', '4', '6', '7'}; // of syslog(3)
	char line[1024];
	va_list ap;

	if (level > threshold)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	// One call for one line: lines of two threads do not mix.
	if (to_journal)
		fprintf(stderr, "<%c>%s\n", priorities[level], line);
	else
		fprintf(stderr, "culvertd: %s%s\n", names[level], line);
}
