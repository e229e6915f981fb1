// SPDX-License-Identifier: BSD-3-Clause
#include "hugepages.h"

#include <dirent.h>
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include "eal.h"
#include "log.h"

#define SYS_DIR "/sys/kernel/mm/hugepages"
#define SIZE    "hugepages-2048kB" // the ones to advise

// What the kernel says about the hugepages of one size, 0 if it has none of that size.
static unsigned long number(const char *size, const char *what)
{
	unsigned long n = 0;
	char path[512];

	snprintf(path, sizeof(path), SYS_DIR "/%s/%s", size, what);

	FILE *f = fopen(path, "re");

	if (f != NULL && fscanf(f, "%lu", &n) != 1)
		n = 0;
	if (f != NULL)
		fclose(f);
	return n;
}

// Megabytes in free hugepages of all sizes.
static unsigned long free_mb(void)
{
	DIR *dir = opendir(SYS_DIR);
	unsigned long mb = 0;
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		unsigned long kb;

		if (sscanf(d->d_name, "hugepages-%lukB", &kb) == 1)
			mb += number(d->d_name, "free_hugepages") * kb / 1024;
	}
	if (dir != NULL)
		closedir(dir);
	return mb;
}

static bool mounted(void)
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (mounts != NULL && (m = getmntent(mounts)) != NULL)
		found |= strcmp(m->mnt_type, "hugetlbfs") == 0;
	if (mounts != NULL)
		endmntent(mounts);
	return found;
}

int hugepages_check(const struct conf *conf)
{
	unsigned long mb = free_mb();
	int rc = 0;

	if (mb < eal_memory_mb(conf)) {
		log_error(
			"memory.size: %u MB in hugepages are wanted, %lu MB are free: reserve them "
			"with 'echo %lu > " SYS_DIR "/" SIZE "/nr_hugepages', or set "
			"memory.hugepages = false (slower)",
			eal_memory_mb(conf), mb,
			number(SIZE, "nr_hugepages") + (eal_memory_mb(conf) - mb + 1) / 2);
		rc = -EIO;
	}
	if (!mounted()) {
		log_error(
			"memory.hugepages: no hugetlbfs is mounted: 'mkdir -p /dev/hugepages && "
			"mount -t hugetlbfs none /dev/hugepages', or set memory.hugepages = false");
		rc = -EIO;
	}
	return rc;
}
