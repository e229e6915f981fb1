// SPDX-License-Identifier: BSD-3-Clause
#include "sys_folder.h"

#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

char sys[] = "/tmp/culvert-sys-XXXXXX";

static void parents_make(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

void sys_file(const char *text, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *f;
	int n = snprintf(path, sizeof(path), "%s/", sys);

	va_start(args, format);
	vsnprintf(path + n, sizeof(path) - (size_t)n, format, args);
	va_end(args);
	parents_make(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void link_to(const char *target, const char *card, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", sys, card, name);
	parents_make(path);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

void sys_card(const char *card, const char *class, const char *driver, const char *group)
{
	char target[128];

	sys_file(class, "bus/pci/devices/%s/class", card);
	sys_file("0x8086\n", "bus/pci/devices/%s/vendor", card);
	sys_file("0x1572\n", "bus/pci/devices/%s/device", card);
	sys_file("1\n", "bus/pci/devices/%s/numa_node", card);
	if (driver != NULL) {
		snprintf(target, sizeof(target), "../../bus/pci/drivers/%s", driver);
		link_to(target, card, "driver");
	}
	if (group != NULL) {
		snprintf(target, sizeof(target), "../../kernel/iommu_groups/%s", group);
		sys_file("", "kernel/iommu_groups/%s/devices/%s", group, card);
		snprintf(target, sizeof(target), "%s/kernel/iommu_groups/%s", sys, group);
		link_to(target, card, "iommu_group");
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

int sys_begin(void **state)
{
	(void)state;
	strcpy(sys + strlen(sys) - 6, "XXXXXX");
	return mkdtemp(sys) != NULL ? 0 : -1;
}

int sys_end(void **state)
{
	(void)state;
	return nftw(sys, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
