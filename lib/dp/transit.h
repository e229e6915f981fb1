// SPDX-License-Identifier: BSD-3-Clause
// Packets to be forwarded: each is given the cached decision of its flow. Packets without a flow,
// or whose decision is of an older configuration, take the slow path in the same pass: policy,
// route, firewall rules. Workers.
#pragma once

#include "policy.h"
#include "worker.h"

// Moves the packets of w->transit to w->protect, w->forward or w->local; empties it.
void transit_burst(struct worker *w);
