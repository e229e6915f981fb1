// SPDX-License-Identifier: BSD-3-Clause
#include "hugepages.h"

#include <dirent.h>
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void remove_from(const char *folder, const struct conf *conf)
{
	DIR *dir = opendir(folder);
	char prefix[CONF_NAME_MAX + 16];
	int len = snprintf(prefix, sizeof(prefix), "culvert-%smap_", conf->instance);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (strncmp(d->d_name, prefix, (size_t)len) == 0 &&
			d->d_name[len + (int)strspn(d->d_name + len, "0123456789")] == '\0')
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir != NULL)
		closedir(dir);
}

unsigned int hugepages_remove(const struct conf *conf)
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	struct mntent *m;
	unsigned int n = 0;

	while (mounts != NULL && (m = getmntent(mounts)) != NULL) {
		if (strcmp(m->mnt_type, "hugetlbfs") != 0)
			continue;
		n++;
		remove_from(m->mnt_dir, conf);
	}
	if (mounts != NULL)
		endmntent(mounts);
	return n;
}

int hugepages_check(const struct conf *conf)
{
	unsigned int mounts = hugepages_remove(conf);
	unsigned long mb = free_mb();
	int rc = 0;

	if (mb < hugepages_dpdk_mb(conf)) {
		log_error(
			"memory.size: %u MB in hugepages are needed, %lu MB are free: reserve them "
			"with 'echo %lu > " SYS_DIR "/" SIZE "/nr_hugepages', or set "
			"memory.hugepages = false (slower)",
			hugepages_dpdk_mb(conf), mb,
			number(SIZE, "nr_hugepages") + (hugepages_dpdk_mb(conf) - mb + 1) / 2);
		rc = -EIO;
	}
	if (mounts == 0) {
		log_error(
			"memory.hugepages: no hugetlbfs is mounted: 'mkdir -p /dev/hugepages && "
			"mount -t hugetlbfs none /dev/hugepages', or set memory.hugepages = false");
		rc = -EIO;
	}
	return rc;
}
