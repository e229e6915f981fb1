// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes the kernel's small files about devices. Any thread; not for workers.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SYSFS "/sys" // mount point

// The first line of a file without its newline, at most size - 1 octets. False if there is none.
bool sysfs_line(char *line, size_t size, const char *path);

// The last part of a symbolic link's target. False if there is no link.
bool sysfs_link(char *name, size_t size, const char *path);

// Writes text to a file that exists, in one system call, as the kernel expects. Returns 0 or
// -errno, which is also the kernel's answer to the request.
int sysfs_write(const char *path, const char *text);
