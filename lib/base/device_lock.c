// SPDX-License-Identifier: BSD-3-Clause
#include "device_lock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int device_lock(const char *kind, const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	// A name that begins with a null octet is abstract.
	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "culvert/%s/%s", kind, name);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}
