// SPDX-License-Identifier: BSD-3-Clause
// The last 15 minutes for the page at the metrics address: a sample of counters every 5 seconds,
// and the last events. Its size depends on no number of tunnels. The control thread writes it;
// other threads read it with the gateway's lock.
#pragma once

#include "view.h"

#define WEB_SAMPLE_MS 5000u
#define WEB_SAMPLES   181u // two neighbours make a rate: 180 rates
#define WEB_EVENTS    50u

// Counters since the start, and numbers of that moment.
struct web_sample {
	uint64_t at_ms;  // of the control thread's clock
	uint64_t rx, tx; // packets
	uint64_t drops[DROP_COUNT];
	uint64_t tunnels_in[TUNNEL_STATES];
	struct device_counts port[CONF_PORTS_MAX];
};

struct web_history {
	uint64_t n; // samples so far; number i is at i % WEB_SAMPLES
	struct web_sample sample[WEB_SAMPLES];
	uint64_t n_events; // copied so far; number i is at i % WEB_EVENTS
	char event[WEB_EVENTS][EVENT_LINE_MAX];
	uint64_t position; // in the log of events
	uint64_t next_ms;  // of the next sample
};

// Takes a sample if it is time to, and copies new events. Takes the gateway's lock only for that.
// Ports are counted by their list. Control thread, without the lock.
void web_history_tick(
	struct web_history *h, struct control *c, const struct view_list *ports, uint64_t now_ms);
