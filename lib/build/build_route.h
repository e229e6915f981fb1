// SPDX-License-Identifier: BSD-3-Clause
// The routes that a configuration means, spoken or not. Private to lib/build.
#pragma once

#include "conf.h"
#include "route.h"

// Makes the table of configured routes, connected networks, own addresses, and what is never
// forwarded. Returns NULL with errno ENOMEM.
struct route_table *build_routes(const struct conf *conf);
