// SPDX-License-Identifier: BSD-3-Clause
// The metrics endpoint: GET /metrics, and with metrics.page the page and its documents
// (web_json.h), by HTTP (RFC 9110) over TCP and a Unix socket, each with a thread of its own that
// runs where the control thread may. The only user of libmicrohttpd. Control thread.
#pragma once

#include <stdio.h>

#include "view.h"

// Listens at the configured address, for metrics of the n lists, when the gateway is complete. A
// failure is a warning: metrics_tick() tries again.
void metrics_start(struct control *c, const struct view_list lists[], unsigned int n);

// Before another configuration applies: listens and serves where it wants that and the running one
// does not. back: it ran before, and must be able to again, so where it cannot listen, that is left
// to metrics_tick(). Returns 0, and metrics_commit() or metrics_discard() is next; or -1 after
// writing the reason to errors: nothing has changed.
int metrics_prepare(const struct conf *conf, bool back, FILE *errors);

// When that configuration applies: closes the sockets that it does not want. Requests that are
// answered by these end.
void metrics_commit(const struct conf *conf);

// When it does not: closes the prepared sockets.
void metrics_discard(void);

// Tries again every few seconds to listen where that failed; writes the history of the page.
void metrics_tick(uint64_t now_ms);

// Closes the sockets and ends all requests: the gateway may be freed.
void metrics_stop(void);
