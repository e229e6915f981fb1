// SPDX-License-Identifier: BSD-3-Clause
// Log lines to standard error. Control thread and start-up only: workers count, they never log.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

// Checks whether standard error is the journal: then lines carry their priority, in front, as in
// sd-daemon(3), and neither name nor level. Elsewhere lines begin with the date from now on. Once
// at start.
void log_start(void);

// The result of that check. Also in a signal handler.
bool log_is_journal(void);

#define LOG_DATE_MAX 40 // octets with the NUL

// Writes the date and time, UTC to the millisecond, in the format of ISO 8601. Only for display:
// the wall clock may be set at any time. Returns text.
const char *log_date(char text[LOG_DATE_MAX]);

// The same of a moment that many milliseconds ago.
const char *log_date_ago(char text[LOG_DATE_MAX], uint32_t ms);

// Lines above this level are not written from now on. Control thread.
void log_set_level(enum log_level level);

// Whether lines of the calling thread are not written. At its start they are.
void log_mute(bool mute);
bool log_is_muted(void);

// From now on the last error of the calling thread is in text, of that size, instead of the log.
// NULL: errors are in the log again.
void log_error_keep(char *text, size_t size);

void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Writes each of the lines, len octets in all, with that text before it.
void log_lines(enum log_level level, const char *before, const char *lines, size_t len);

// The stream for messages about a start that fails, one line each: errors in the journal, else
// standard error as it is. Stays open.
FILE *log_failures(void);

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
