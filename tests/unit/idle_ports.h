// SPDX-License-Identifier: BSD-3-Clause
// The part of control_io that is about links, for control threads without devices: all ports are
// up, and none is a bond.
#pragma once

#include "control.h"

static inline bool idle_has_link(void *arg, uint16_t port)
{
	(void)arg, (void)port;
	return true;
}

static inline uint32_t idle_active(void *arg, uint16_t port)
{
	(void)arg, (void)port;
	return 0;
}

static inline void idle_link(void *arg, uint16_t port, bool up)
{
	(void)arg, (void)port, (void)up;
}
