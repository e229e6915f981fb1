// SPDX-License-Identifier: BSD-3-Clause
#include "sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool sysfs_line(char *line, size_t size, const char *path)
{
	FILE *f = fopen(path, "re");
	bool ok = f != NULL && fgets(line, (int)size, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

bool sysfs_link(char *name, size_t size, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *slash;

	if (n < 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, size, "%s", slash != NULL ? slash + 1 : target);
	return true;
}

int sysfs_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}
