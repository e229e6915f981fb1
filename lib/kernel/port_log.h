// SPDX-License-Identifier: BSD-3-Clause
// Messages about a port, with its place in the configuration.
#pragma once

#include "conf.h"
#include "log.h"

// Logs a mistake of a port, with its place in the configuration.
#define port_error(c, fmt, ...)                                                                    \
	log_error("%s:%u: port \"%s\": " fmt, (c)->where.file, (c)->where.line, (c)->name,         \
		##__VA_ARGS__)

// The same for a setting that may be intended.
#define port_warn(c, fmt, ...)                                                                     \
	log_warn("%s:%u: port \"%s\": " fmt, (c)->where.file, (c)->where.line, (c)->name,          \
		##__VA_ARGS__)
