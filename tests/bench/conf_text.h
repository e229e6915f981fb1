// SPDX-License-Identifier: BSD-3-Clause
// Configurations that benchmarks write themselves.
#pragma once

#include <stdio.h>

struct conf;

// Reads the configuration that write() writes; arg is for that. Ends the program on failure.
struct conf *conf_written(void (*write)(FILE *f, const void *arg), const void *arg);
