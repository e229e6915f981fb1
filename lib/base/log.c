// SPDX-License-Identifier: BSD-3-Clause
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static _Atomic enum log_level threshold = LOG_LEVEL_INFO; // control thread
static bool to_journal, dated;
static _Thread_local bool muted;
static _Thread_local char *kept; // the last error; NULL: errors are written
static _Thread_local size_t kept_size;

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
	dated = !to_journal;
}

bool log_is_journal(void)
{
	return to_journal;
}

void log_set_level(enum log_level level)
{
	threshold = level;
}

void log_mute(bool mute)
{
	muted = mute;
}

bool log_is_muted(void)
{
	return muted;
}

void log_error_keep(char *text, size_t size)
{
	kept = text;
	kept_size = size;
}

const char *log_date_ago(char text[LOG_DATE_MAX], uint32_t ms)
{
	struct timespec now;
	int64_t at;
	time_t seconds;
	struct tm utc;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	at = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000 - ms;
	seconds = at / 1000;
	gmtime_r(&seconds, &utc);
	len = strftime(text, LOG_DATE_MAX, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + len, LOG_DATE_MAX - len, ".%03dZ", (int)(at % 1000));
	return text;
}

const char *log_date(char text[LOG_DATE_MAX])
{
	return log_date_ago(text, 0);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = {"error: ", "warning: ", "", "debug: "};
	static const char priorities[] = {'3', '4', '6', '7'}; // of syslog(3)
	char line[1024], date[LOG_DATE_MAX];
	va_list ap;

	if (level > threshold || muted)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (level == LOG_LEVEL_ERROR && kept != NULL) {
		snprintf(kept, kept_size, "%s", line);
		return;
	}
	// One call for one line: lines of two threads do not mix.
	if (to_journal)
		fprintf(stderr, "<%c>%s\n", priorities[level], line);
	else
		fprintf(stderr, "%s%sculvertd: %s%s\n", dated ? log_date(date) : "",
			dated ? " " : "", names[level], line);
}
