// SPDX-License-Identifier: BSD-3-Clause
#include "eal_log.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_log.h>

static bool show_all; // at once
static char *kept;    // since eal_log_begin()
static size_t kept_len;
static FILE *keeper;
static char *kept_start;

void eal_log_verbose(bool verbose)
{
	show_all = verbose;
}

void eal_log_begin(void)
{
	if (!show_all)
		keeper = open_memstream(&kept, &kept_len);
	if (keeper != NULL)
		rte_openlog_stream(keeper);
}

// Returns what was kept, NULL if nothing is. The caller frees it.
static char *log_take(void)
{
	char *log = NULL;

	rte_openlog_stream(stderr);
	if (keeper == NULL)
		return NULL;
	fclose(keeper);
	keeper = NULL;
	log = kept;
	kept = NULL;
	return log;
}

static void log_show(char **log)
{
	if (*log != NULL)
		fputs(*log, stderr);
	free(*log);
	*log = NULL;
}

void eal_log_end(bool show)
{
	char *log = log_take();

	if (show)
		log_show(&log);
	free(log);
}

void eal_log_keep(void)
{
	kept_start = log_take();
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
