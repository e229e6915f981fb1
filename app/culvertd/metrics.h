// SPDX-License-Identifier: BSD-3-Clause
// The metrics endpoint: GET /metrics by HTTP, on a thread of its own that runs where the control
// thread may. The only user of libmicrohttpd.
#pragma once

#include "gateway.h"

// Listens where the configuration says, if it says so. Control thread, when the gateway is
// complete. Returns 0, or -EIO after logging why not.
int metrics_start(struct gateway *g);

// Ends what is under way: the gateway may go.
void metrics_stop(void);
