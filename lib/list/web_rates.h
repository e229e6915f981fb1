// SPDX-License-Identifier: BSD-3-Clause
// The history as rates in JSON: arrays of numbers per second, the oldest first. Threads of the HTTP
// servers, with a copy of the history.
#pragma once

#include <stdio.h>

#include "web_history.h"

// Of packets received, sent and dropped, of drops by reason, and how many tunnels had each state.
void web_rates_write(FILE *out, const struct web_history *h);

// Of bits that ports received and sent. With the gateway's lock, for their names.
void web_rates_write_ports(FILE *out, const struct web_history *h, const struct conf *conf);
