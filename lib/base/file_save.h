// SPDX-License-Identifier: BSD-3-Clause
// Files that a crash or a power failure leaves whole: state of the daemon, and configurations. Any
// thread.
#pragma once

#include <stddef.h>

// Replaces the file, of mode 0600, by the text, entirely or not at all even if the power fails;
// once this has returned 0 it is on the disk. Returns 0 or -errno of the system call.
int file_save(const char *path, const char *text, size_t len);

// The steps of that: writes len octets to an open file and the disk; puts a file's name on the
// disk, which is there only when its folder is. Return 0 or -errno.
int file_write(int fd, const char *text, size_t len);
int file_sync_folder(const char *path);

// Removes the file, if there is one; once this has returned 0 it is gone from the disk. Returns 0
// or -errno of the system call.
int file_remove(const char *path);
