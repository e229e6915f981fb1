// SPDX-License-Identifier: BSD-3-Clause
// Items about security associations. Threads of librte_telemetry, under the gateway's lock.
#pragma once

#include "gateway.h"
#include "telemetry_add.h"

// Writes item number i: the outbound SAs first, false behind the last.
bool sa_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i);

// Writes those that carry most now, the busiest first, at most SA_BUSIEST of them. Takes the lock
// itself.
#define SA_BUSIEST 16
void sa_busiest_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);
