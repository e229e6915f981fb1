// SPDX-License-Identifier: BSD-3-Clause
// The sockets by which requests are received: that of control_group, and that of show_group for
// requests that change nothing. The requests and decisions: requests.h of lib/control. Control
// thread.
#pragma once

#include <poll.h>

#include "gateway.h"

// Opens the sockets. Returns 0, or -EIO after logging why not. Before privileges are given up.
int request_start(struct gateway *g);

#define REQUEST_SOCKETS 2

// Descriptors to poll for new clients.
void request_sockets(struct pollfd fds[REQUEST_SOCKETS]);

// Receives requests, continues with them, and sends answers; reload: SIGHUP has requested a reload.
// Returns whether it should be called again soon: a client or a request waits. Otherwise it is
// enough to call it when a client comes, or events have been posted for subscribers.
bool request_tick(bool reload, uint64_t now_ms);

// When nothing is loaded any more.
void request_stop(void);
