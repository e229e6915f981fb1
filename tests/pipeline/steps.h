// SPDX-License-Identifier: BSD-3-Clause
// Steps of traced packets, for tests.
#pragma once

#include "harness.h"
#include "trace.h"

// Checks the kinds of the steps of a packet of the trace, the last of which is TRACE_KINDS.
void expect_steps(const struct gateway *g, uint32_t packet, const enum trace_kind right[]);

#define EXPECT_STEPS(g, packet, ...)                                                               \
	expect_steps(g, packet, (const enum trace_kind[]){__VA_ARGS__, TRACE_KINDS})

// The first step of the kind. The test fails without one.
const struct trace_step *find_step(const struct gateway *g, enum trace_kind kind);
