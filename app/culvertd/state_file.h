// SPDX-License-Identifier: BSD-3-Clause
// Who may write what outlives the daemon: root, the user who runs it, and the user it becomes. A
// file that others can write, or put in its place, proves nothing. Control thread, at the start.
#pragma once

#include <sys/stat.h>

#include "conf.h"

// Makes a folder of mode 0700 if there is none, and checks it. advice is said when it cannot be
// made. Returns 0, or -errno after logging what is wrong and the remedy.
int state_folder_check(const char *path, const struct conf *conf, const char *advice);

// Checks a file in such a folder, which therefore nobody else can exchange afterwards. Returns 0,
// also if there is no such file, or -errno after logging what is wrong and the remedy.
int state_file_check(const char *path, const struct conf *conf);

// Checks the folder of something else that others must not exchange; risk says what they could do.
// Returns 0, or -errno after writing to why (size octets) what is wrong and the remedy. Any time.
int folder_check(
	const char *path, const struct conf *conf, const char *risk, char *why, size_t size);
