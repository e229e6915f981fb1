// SPDX-License-Identifier: BSD-3-Clause
// Items about security associations. Threads of librte_telemetry, under the gateway's lock.
#pragma once

#include "gateway.h"
#include "telemetry_add.h"

// Writes item number i: the outbound SAs first, false behind the last.
bool sa_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i);
