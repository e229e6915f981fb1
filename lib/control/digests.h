// SPDX-License-Identifier: BSD-3-Clause
// Digests of the configuration, by which gateways of a pair or a fleet notice that theirs differ.
// Control thread.
#pragma once

#include "control.h"

// Makes c->digests again when the configuration has changed, at most once a second. True: it did.
bool digests_follow(struct control *c, uint64_t now_ms);
