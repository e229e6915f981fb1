// SPDX-License-Identifier: BSD-3-Clause
// Ends a benchmark that cannot continue.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define die(...)                                                                                   \
	do {                                                                                       \
		fprintf(stderr, "bench: " __VA_ARGS__);                                            \
		fputc('\n', stderr);                                                               \
		exit(EXIT_FAILURE);                                                                \
	} while (0)
