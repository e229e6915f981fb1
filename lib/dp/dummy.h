// SPDX-License-Identifier: BSD-3-Clause
// Dummy packets (RFC 4303 2.6): they fill an SA's traffic up to its rate, so that an observer
// cannot tell how much of it is real. Workers.
#pragma once

#include "worker.h"

// Adds the dummies that are due, at most DUMMIES_MAX, to w->protect. Call every millisecond.
void dummies_add(struct worker *w);
