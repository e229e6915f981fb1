// SPDX-License-Identifier: BSD-3-Clause
// Which hosts a request may be for. A page of a stranger can have its own name resolved to a
// loopback address (DNS rebinding), and would then read the answers as its own. Threads of the HTTP
// servers.
#pragma once

#include <stdbool.h>

// Whether the field Host of a request (RFC 9110, section 7.2) is an address, "localhost" or the
// name of the machine, each with a port or without. NULL is allowed: browsers always send one.
bool web_host_is_own(const char *host, const char *machine);
