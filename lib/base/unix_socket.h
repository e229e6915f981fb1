// SPDX-License-Identifier: BSD-3-Clause
// Unix sockets with a mode from the moment their path is there. Control thread.
#pragma once

#include <sys/stat.h>
#include <sys/un.h>

// Binds a socket to its path, which gets that mode: not by its name, behind which there may be
// something else by then. The process has another umask meanwhile, under which files of mode 0600
// are made as always. Returns 0, or -1 with errno.
int unix_socket_bind(int fd, const struct sockaddr_un *addr, mode_t mode);
