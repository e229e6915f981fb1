// SPDX-License-Identifier: BSD-3-Clause
// Reloads by telemetry: one command asks for it, another says what came of it. Telemetry's threads.
#pragma once

#include <rte_telemetry.h>

#include "gateway.h"

// Asks for a reload; the one item has its number.
void reload_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// What came of the last reload: how many are done, and whether it was refused. Behind that what was
// wrong, in pieces as long as telemetry takes; "more" says that the line goes on in the next.
bool reload_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i);
