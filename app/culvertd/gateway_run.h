// SPDX-License-Identifier: BSD-3-Clause
// The life of the gateway. Control thread.
#pragma once

#include "gateway.h"

// Starts everything in order once DPDK runs, serves packets until a signal ends that, and stops
// everything in reverse. conf, io and lock of control are set. False after a message: it did not
// start.
bool gateway_run(struct gateway *g);
