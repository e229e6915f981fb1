// SPDX-License-Identifier: BSD-3-Clause
#include "memory_lock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

int memory_lock(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &limit); // capabilities of root
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur != RLIM_INFINITY)
		return -EPERM;
	return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0 ? -errno : 0;
}

bool memory_has_swap(void)
{
	FILE *f = fopen("/proc/swaps", "re");
	int lines = 0, c;

	while (f != NULL && (c = fgetc(f)) != EOF)
		lines += c == '\n';
	if (f != NULL)
		fclose(f);
	return lines > 1; // after the heading
}
