// SPDX-License-Identifier: BSD-3-Clause
#include "file_save.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int file_write(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) == 0 ? 0 : -errno;
}

// The name is on the disk only when its directory is.
int file_sync_folder(const char *path)
{
	char copy[PATH_MAX];
	int fd, rc;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) == 0 ? 0 : -errno;
	close(fd);
	return rc;
}

int file_save(const char *path, const char *text, size_t len)
{
	char fresh[PATH_MAX];
	int fd, rc;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", path) >= sizeof(fresh))
		return -ENAMETOOLONG;
	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = file_write(fd, text, len);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(fresh, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(fresh);
		return rc;
	}
	return file_sync_folder(path);
}

int file_remove(const char *path)
{
	if (unlink(path) < 0)
		return errno == ENOENT ? 0 : -errno;
	return file_sync_folder(path);
}
