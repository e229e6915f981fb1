// SPDX-License-Identifier: BSD-3-Clause
// Ports that a configuration adds to the running one, or removes from it. All that is found by the
// number of a port ends before another port gets the number. Control thread.
#pragma once

#include "control.h"

// The next configuration has VLANs that the running one lacks: sets their link addresses. Those of
// their parents are set. Before configure_replace().
void port_change_prepare(struct control *c, const struct conf *conf);

// The configuration was replaced: begins to watch the links of ports that the former one lacked,
// and logs which ports have come and gone.
void port_change_follow(struct control *c, const struct conf *former);

// Removes flows and neighbours of ports that were removed, when no worker has the former snapshot
// any more; CONF_PORT_LEAVES_S later their numbers are free, if their devices are closed. That is
// longer than fragments wait, and than packets are in rings. To be called several times a second.
void port_change_tick(struct control *c, uint64_t now_ms);
