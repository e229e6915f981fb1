// SPDX-License-Identifier: BSD-3-Clause
// The ports' links: asked for once a second, changes logged and acted upon. Control thread.
#pragma once

#include "gateway.h"

// Reads the links, and warns of those that are down.
void links_start(struct gateway *g);

// What was known of a link's neighbours is forgotten when it goes down, and own addresses are
// announced when it comes up, those of IPv6 after they have been tried out anew, as is which groups
// are listened to: at the other end may be another switch. now_ms is gateway_now_ms(). Call every
// 100 ms or so, with the gateway's lock.
void links_tick(struct gateway *g, uint64_t now_ms);
