// SPDX-License-Identifier: BSD-3-Clause
#include "unix_socket.h"

#include <sys/socket.h>

int unix_socket_bind(int fd, const struct sockaddr_un *addr, mode_t mode)
{
	mode_t before = umask(0777 & ~mode);
	int rc = bind(fd, (const struct sockaddr *)addr, sizeof(*addr));

	umask(before); // does not change errno
	return rc;
}
