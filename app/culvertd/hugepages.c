// SPDX-License-Identifier: BSD-3-Clause
#include "hugepages.h"

#include <dirent.h>
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

#define SYS_DIR "/sys/kernel/mm/hugepages"

// Megabytes in free hugepages of all sizes.
static unsigned long free_mb(void)
{
	DIR *dir = opendir(SYS_DIR);
	unsigned long mb = 0;
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		unsigned long kb, pages = 0;
		char path[512];

		if (sscanf(d->d_name, "hugepages-%lukB", &kb) != 1)
			continue;
		snprintf(path, sizeof(path), SYS_DIR "/%s/free_hugepages", d->d_name);

		FILE *f = fopen(path, "re");

		if (f != NULL && fscanf(f, "%lu", &pages) == 1)
			mb += pages * kb / 1024;
		if (f != NULL)
			fclose(f);
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

	if (!conf->hugepages)
		return 0;
	if (mb < conf->memory_mb) {
		log_error(
			"memory.size: %u MB in hugepages are wanted, %lu MB are free: reserve them "
			"with 'echo %u > " SYS_DIR "/hugepages-2048kB/nr_hugepages', or set "
			"memory.hugepages = false (slower)",
			conf->memory_mb, mb, (conf->memory_mb + 1) / 2);
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
