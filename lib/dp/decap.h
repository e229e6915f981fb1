// SPDX-License-Identifier: BSD-3-Clause
// The stage for received ESP packets (RFC 4303 3.4): SA, sequence number, integrity, decryption,
// replay window. Workers.
#pragma once

#include "fanout.h"

// Processes the packets of w->esp, and empties it: those out of tunnels are sorted, or handed over.
void decap_burst(struct worker *w);

// The first half, for a burst of another worker: puts the opened packets into b. w->esp is empty
// afterwards.
void decap_open(struct worker *w, struct fan_burst *b);

// The second half, of the worker that received the burst, in the order of arrival: enters the
// sequence numbers into the replay windows, and hands the packets over to the workers that their
// flows belong to.
void decap_accept(struct worker *w, struct fan_burst *b);
