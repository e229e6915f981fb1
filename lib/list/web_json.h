// SPDX-License-Identifier: BSD-3-Clause
// The documents of the page at the metrics address: JSON (RFC 8259) with items of lists in the form
// in which telemetry has them, so nothing that the lists do not show. Threads of the HTTP servers.
#pragma once

#include "web_history.h"

// Ports, groups, members, the worst and busiest tunnels, the busiest SAs, reasons of drops, events,
// and the rates of the history. Returns text of *len octets for the caller to free, NULL if memory
// is short. Takes the gateway's lock for a part after the other.
char *web_status_new(struct control *c, const struct view_list lists[], unsigned int n,
	const struct web_history *history, size_t *len);

// At most WEB_TUNNELS tunnels that match a filter of filter.h, from a position of the list on, and
// the position to go on from. An invalid filter gets {"error": "why"}. Returns the same.
#define WEB_TUNNELS 50u
char *web_tunnels_new(struct control *c, uint32_t from, const char *filter, size_t *len);
