// SPDX-License-Identifier: BSD-3-Clause
// The gateways that packets are thrown at: site A of the pipeline's tests, and site B of those with
// IPv6. After every input the
// books have to balance, and at the end all packet buffers have to be back.
#pragma once

#include "peer.h"
#include "site.h"
#include "site_v6.h"

extern struct gateway *fuzz_gateway, *fuzz_gateway_v6;

// At start.
void fuzz_gateway_start(void);

// Passes the frames, then lets a millisecond go by.
void fuzz_gateway_pass(struct gateway *g, struct rte_mbuf *m[], unsigned int n);
