// SPDX-License-Identifier: BSD-3-Clause
// The control thread: everything that is due again and again, signals, and in the end an orderly
// stop.
#pragma once

#include "gateway.h"
#include "reopen.h"

// Functions of the control thread that use ports, and of workers for ports that are opened again;
// the argument is struct gateway.
extern const struct control_io control_thread_io;
extern const struct reopen_io control_thread_reopen_io;

// Blocks the signals that control_thread_run() waits for, before any other thread is made. Ignores
// SIGPIPE: drivers write to sockets of processes that may be gone, virtio-user to its vhost.
// Returns 0, or -errno after a message.
int control_thread_block_signals(void);

// Runs until SIGTERM or SIGINT; on SIGHUP it reads the configuration again.
void control_thread_run(struct gateway *g);

// Stops the workers: packets in flight are sent or counted.
void control_thread_stop_workers(struct gateway *g);
