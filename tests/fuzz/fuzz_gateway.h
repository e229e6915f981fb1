// SPDX-License-Identifier: BSD-3-Clause
// The gateway that packets are thrown at: site A of the pipeline's tests. After every input the
// books have to balance, and at the end all packet buffers have to be back.
#pragma once

#include "peer.h"
#include "site.h"

extern struct gateway *fuzz_gateway;

// At start.
void fuzz_gateway_start(void);

// Passes the frames, then lets a millisecond go by.
void fuzz_gateway_pass(struct rte_mbuf *m[], unsigned int n);
