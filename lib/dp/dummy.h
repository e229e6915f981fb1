// SPDX-License-Identifier: BSD-3-Clause
// Dummy packets (RFC 4303 2.6): where an SA has a rate and its traffic stays below, they make up
// for what is missing. Nobody on the way sees how much of the traffic is real. Workers.
#pragma once

#include "worker.h"

// Once in a millisecond: adds to w->protect the dummies that are due, at most DUMMIES_MAX.
void dummies_add(struct worker *w);
