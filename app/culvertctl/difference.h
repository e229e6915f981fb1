// SPDX-License-Identifier: BSD-3-Clause
// Differences of configurations, as conf_print_diff() writes them. One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

// Prints one in a line; has_line: with the line of the file that it leads to.
void difference_print(const json_t *d, bool has_line);
