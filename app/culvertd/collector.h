// SPDX-License-Identifier: BSD-3-Clause
// The socket by which flows are exported, of the kernel's network. Control thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "addr.h"

// As control_io.export_send(). The socket is opened at the first call, for another collector, and
// after an error that it does not recover from by itself: no route was there, for example.
int collector_send(
	void *arg, const struct ip_addr *to, uint16_t port, const void *message, size_t len);

void collector_close(void);
