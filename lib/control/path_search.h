// SPDX-License-Identifier: BSD-3-Clause
// The search for the path MTU to a peer (RFC 8899 without acknowledgements: ESP has none). An ICMP
// error is only a reason to probe; only an error about a packet that was sent after it counts. A
// size that draws no error several times fits. Without I/O. Control thread. Times are in
// milliseconds, sizes in octets of IP packet.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

#define PATH_PROBES    3    // of one size
#define PATH_ANSWER_MS 1000 // for the error about a probe to come back
#define PATH_FIRST_MS  5000 // from a reduction to the first search for more
// Quotes without SPI that name the length of the probe and another identification, after which no
// such quote is processed until the search ends: an attacker who guesses the 16 bits succeeds in
// one of 1024 searches, which are 13 seconds apart. Not fewer, because a router that quotes so
// little also sends errors about packets of that length that were on the path before the probe.
#define PATH_GUESSES  64
#define PATH_QUIET_MS 10000 // from an error that was not confirmed to the next that is looked at

struct path_search {
	uint16_t mtu;     // that packets keep to; UINT16_MAX: whatever the first link takes
	uint16_t size;    // of the probes; 0: there is no search
	uint8_t probes;   // of that size sent
	uint64_t due_ms;  // when the next probe, or the next search, is
	uint32_t wait_ms; // from the end of a search to the next one
	bool quiet;       // until then errors begin none
	// Identifies the packet that an error quotes: by its SA and a number above this, or where
	// the quote does not show them by identification and length of the last probe.
	uint32_t spi;
	uint64_t above;
	uint16_t id, len;
	uint8_t guesses; // such quotes with another identification
};

struct path_mtu {
	struct ip_addr peer;
	struct path_search search;
};

// At most one for each SA. Zero is an empty one.
struct path_mtus {
	struct path_mtu *of;
	unsigned int n, room;
	bool unapplied;       // by some SA, as memory was missing
	uint64_t log_next_ms; // when a result may be logged next
};

struct path_quote {
	uint16_t mtu; // that the error names
	uint32_t spi; // 0: the quote does not show it, nor the number
	uint32_t seq; // low 32 bits
	uint16_t id, len;
};

enum path_result {
	PATH_CONTINUES, // the search
	PATH_CONFIRMED, // the error that began it: mtu is smaller now
	PATH_REFUTED,   // that error: mtu stays
	PATH_RAISED,    // mtu is larger now
	PATH_KEPT,      // mtu has been confirmed once more
};

// Begins a search at this size, with packets of an SA whose last number is this. The first probe is
// due.
void path_search_begin(
	struct path_search *s, uint16_t size, uint32_t spi, uint64_t last_seq, uint64_t now_ms);

// A probe has been sent.
void path_search_probed(struct path_search *s, uint16_t id, uint16_t len, uint64_t now_ms);

// Whether an error is about a packet of the search. Counts guesses.
bool path_search_is_answer(struct path_search *s, const struct path_quote *q);

// Processes such an error. max_ms: at most from one search to the next. PATH_CONTINUES: the next
// probe is due, of another size.
enum path_result path_search_answered(
	struct path_search *s, uint16_t mtu, uint64_t last_seq, uint32_t max_ms, uint64_t now_ms);

// The next probe is due, but PATH_PROBES of them have been sent.
enum path_result path_search_unanswered(struct path_search *s, uint16_t top, uint64_t now_ms);
