// SPDX-License-Identifier: BSD-3-Clause
// The list sas_busiest. Threads of librte_telemetry.
#pragma once

#include "gateway.h"
#include "telemetry_add.h"

// Writes those that carry most now, the busiest first, at most SA_BUSIEST of them. Takes the lock
// itself.
#define SA_BUSIEST 16
void sa_busiest_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);
