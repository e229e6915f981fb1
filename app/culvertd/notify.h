// SPDX-License-Identifier: BSD-3-Clause
// Tells the service manager how the daemon is doing, as sd_notify(3) describes: datagrams to the
// socket named by NOTIFY_SOCKET. Without one, nothing is sent. Control thread.
#pragma once

#include <stdint.h>

// Connects, and reads how often the watchdog wants to be fed. To be called first, while the socket
// may still be reached.
void notify_start(void);

// Packets are served; also the end of notify_reloading().
void notify_ready(void);

// The configuration is being read again.
void notify_reloading(void);

// The end has begun.
void notify_stopping(void);

// All is well.
void notify_watchdog(void);

// Milliseconds within which notify_watchdog() is wanted, half of the service manager's limit; 0:
// never.
uint32_t notify_watchdog_ms(void);
