// SPDX-License-Identifier: BSD-3-Clause
// The texts of the files of a configuration. Any thread.
#pragma once

#include <stddef.h>

// Octets of a file, with a NUL after them.
struct conf_text {
	const char *path; // its real one
	const char *octets;
	size_t len;
};

struct conf_texts {
	struct conf_text *text;
	unsigned int n;
};
