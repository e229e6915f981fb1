// SPDX-License-Identifier: BSD-3-Clause
// The links of ports, checked once a second, and which of their members are active, checked ten
// times a second: changes are posted and acted upon. Control thread.
#pragma once

#include "control.h"

// Checks all links for the first time, and posts an event for each that is down.
void links_start(struct control *c);

// The same for the link of a port that the configuration has from now on.
void links_add(struct control *c, uint16_t port);

// Makes the next call of links_tick() check them, however recent the last check.
void links_check_now(struct control *c);

// Forgets the neighbours of a link that has gone down. When a link has come up, announces the own
// addresses, those of IPv6 after they have been checked again; also when a member has become active
// on a link that is up. Call every 100 ms or so, with the gateway's lock.
void links_tick(struct control *c, uint64_t now_ms);
