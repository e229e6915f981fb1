// SPDX-License-Identifier: BSD-3-Clause
// Ports of a configuration that is loaded: new ones are opened before it replaces the running one,
// and removed ones are closed after that. Control thread, with the gateway's lock, unless noted.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "gateway.h"

// Opens the devices of ports that conf adds, by the device thread, and sets their link addresses in
// g->control.ports. A port whose peer does not run yet waits for it. If conf ran before (back), so
// does any port whose device does not open. Returns false if one of them cannot be opened, after a
// line for each to errors. The thread that loads, without the lock.
bool load_ports_try(struct gateway *g, struct conf *conf, bool back, FILE *errors);

// Prepares the new ports of conf, before workers get its snapshot. Returns 0 or -ENOMEM.
int load_ports_prepare(struct gateway *g, const struct conf *conf);

// If conf does not replace the running configuration after that: takes the preparations back.
void load_ports_forget(struct gateway *g, const struct conf *conf);

// If it is discarded, at any time: closes the devices that load_ports_try() has opened. With or
// without the lock.
void load_ports_discard(const struct gateway *g, const struct conf *conf);

// The configuration has replaced the former one: ports come and go. Cannot fail.
void load_ports_follow(struct gateway *g, const struct conf *former);
