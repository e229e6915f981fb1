// SPDX-License-Identifier: BSD-3-Clause
#include "eal_log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_log.h>

#include "log.h"

static bool show_all; // at once

// One stream for as long as DPDK runs, as any of its threads may be writing to it.
static struct {
	pthread_mutex_t lock; // of the fields below
	FILE *stream;
	FILE *kept; // since eal_log_begin(); NULL: lines are shown
	char *text; // of kept
	size_t len;
	unsigned int keepers; // threads between eal_log_begin() and its end
} out = {.lock = PTHREAD_MUTEX_INITIALIZER};
static char *kept_start;

void eal_log_verbose(bool verbose)
{
	show_all = verbose;
}

static ssize_t out_write(void *cookie, const char *text, size_t len)
{
	(void)cookie;
	pthread_mutex_lock(&out.lock);
	fwrite(text, 1, len, out.kept != NULL ? out.kept : stderr);
	pthread_mutex_unlock(&out.lock);
	return (ssize_t)len;
}

static void out_open(void)
{
	out.stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = out_write});
	if (out.stream == NULL)
		return;
	setvbuf(out.stream, NULL, _IONBF, 0);
	rte_openlog_stream(out.stream);
}

void eal_log_begin(void)
{
	if (out.stream == NULL)
		out_open();
	pthread_mutex_lock(&out.lock);
	if (!show_all && out.keepers++ == 0)
		out.kept = open_memstream(&out.text, &out.len);
	pthread_mutex_unlock(&out.lock);
}

// Ends it for one thread. Returns the lines kept so far if they are wanted, or if it was the last
// thread; else NULL. The caller frees it.
static char *log_take(bool wanted)
{
	char *log = NULL;

	pthread_mutex_lock(&out.lock);
	if (out.keepers > 0)
		out.keepers--;
	if (out.kept != NULL && (wanted || out.keepers == 0)) {
		fclose(out.kept);
		log = out.text;
		out.kept = out.keepers > 0 ? open_memstream(&out.text, &out.len) : NULL;
	}
	pthread_mutex_unlock(&out.lock);
	return log;
}

static void log_show(char **log)
{
	if (*log != NULL)
		fputs(*log, log_failures());
	free(*log);
	*log = NULL;
}

void eal_log_end(bool show)
{
	bool shown = show && !log_is_muted();
	char *log = log_take(shown);

	if (shown)
		log_show(&log);
	free(log);
}

void eal_log_keep(void)
{
	kept_start = log_take(true);
}

void eal_log_start_show(void)
{
	log_show(&kept_start);
}

void eal_log_forget(void)
{
	free(kept_start);
	kept_start = NULL;
}
