// SPDX-License-Identifier: BSD-3-Clause
// What would happen to a packet: "culvertctl show match". Threads of librte_telemetry.
#pragma once

#include "gateway.h"
#include "telemetry_add.h"

// filter: source=ADDRESS,destination=ADDRESS and perhaps proto=, destination_port=, source_port=.
// Answers with one object, or the reason why there is none.
void match_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);
