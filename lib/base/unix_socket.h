// SPDX-License-Identifier: BSD-3-Clause
// Unix sockets with a mode from the moment their path is there. Control thread.
#pragma once

#include <sys/stat.h>
#include <sys/un.h>

// Binds a socket to its path with that mode. The mode comes from the umask, not from chmod(), as
// another file may have the name by then. The umask of the process changes meanwhile; files of mode
// 0600 are not affected. Returns 0, or -1 with errno.
int unix_socket_bind(int fd, const struct sockaddr_un *addr, mode_t mode);
