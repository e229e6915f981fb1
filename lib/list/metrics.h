// SPDX-License-Identifier: BSD-3-Clause
// The metrics endpoint: GET /metrics, and with metrics.page the page and its documents
// (web_json.h), by HTTP (RFC 9110) over TCP and a Unix socket, each with a thread of its own that
// runs where the control thread may. The only user of libmicrohttpd. Control thread.
#pragma once

#include "view.h"

// Listens at the configured address, for metrics of the n lists, when the gateway is complete. A
// failure is a warning: metrics_tick() tries again.
void metrics_start(struct control *c, const struct view_list lists[], unsigned int n);

// Tries again every few seconds to listen where that failed; writes the history of the page.
void metrics_tick(uint64_t now_ms);

// Closes the sockets and ends all requests: the gateway may be freed.
void metrics_stop(void);
