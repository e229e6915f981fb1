// SPDX-License-Identifier: BSD-3-Clause
// The channel between the two gateways of a pair: lines of text in both directions, in order, by
// TLS over TCP. A thread of its own connects, reads and writes, and touches nothing of the gateway.
// The one with the lower address listens, the other connects. Nothing but a hello of either side
// has a meaning here (message.h).
//
// All functions are for one thread, which is never made to wait; channel_state() is for any.
#pragma once

#include "addr.h"
#include "line.h"
#include "message.h"

#define CHANNEL_QUEUE_MAX (256 * 1024) // octets of lines, of each direction
// Lines of which there may be very many are sent while fewer octets wait, so that others, such as
// those about roles, wait for a tick at most.
#define CHANNEL_BULK_MAX (CHANNEL_QUEUE_MAX / 4)

struct channel;

struct channel_params {
	uint32_t member; // 1 or 2
	struct ip_addr address, peer;
	uint16_t port;
	const char *name, *version;                       // copied
	const char *certificate, *key, *peer_certificate; // in PEM; not needed any more afterwards
};

// Makes a channel. Returns 0; -ENOMEM, -EINVAL if keys or certificates cannot be used, or another
// -errno.
int channel_new(struct channel **channel, const struct channel_params *p);

// Starts the thread, which first confines itself: confine() returns 0 or -errno. Returns 0 or
// -errno.
int channel_start(struct channel *ch, int (*confine)(void *arg), void *arg);

// Ends the thread and the connection. NULL is allowed.
void channel_free(struct channel *ch);

// Words "KIND=DIGEST" with blanks in between: the configuration, which the other end compares with
// its own. At first there are none.
void channel_config_set(struct channel *ch, const char *config);

// The number of the connection; 0: there is none. Sending and receiving are about the connection
// that this has returned last: if there is another by now, there is nothing to do for that one.
uint64_t channel_epoch(struct channel *ch);

// Sends a line of len octets, without its end but with NUL after it: printable ASCII, at most
// LINE_LEN_MAX - 1, which begins with none of the words of message.h. False: there is no room or no
// connection, and it is not sent.
bool channel_send(struct channel *ch, const char *line, size_t len);

// Octets of lines that wait to be written to the connection.
size_t channel_waiting(struct channel *ch);

// Takes the next line, with NUL instead of its end. False: there is none.
bool channel_receive(struct channel *ch, char line[LINE_LEN_MAX]);

enum channel_phase {
	CHANNEL_IN_SYNC,
	CHANNEL_SYNCING,    // lines are missing for longer than a second
	CHANNEL_CONNECTING, // there is no connection
	CHANNEL_ONE_WAY,    // the other end receives nothing of this one, which receives from it
	CHANNEL_REFUSED,    // one end does not accept the other
};

extern const char *const channel_phase_names[]; // "in sync"

// Times are milliseconds until now; UINT64_MAX: never.
struct channel_state {
	enum channel_phase phase;
	uint64_t epoch;
	uint64_t since_ms;     // of the connection, or of its end
	uint64_t received_ms;  // something was received from the other end
	uint64_t confirmed_ms; // the other end has confirmed that it receives
	// Lines of the present connection: sent, of these taken by the other end, and the same of
	// the other direction.
	uint64_t sent, sent_taken, received, received_taken;
	bool sent_late, received_late; // some are missing for longer than a second
	uint64_t strangers;            // connections that were refused
	uint64_t failures;             // connections that ended
	struct pair_hello peer;        // the last one; member 0: there was none
	char config[PAIR_CONFIG_MAX];  // kinds that differ, with commas in between
	char error[PAIR_REASON_MAX];   // why there is no connection; empty: there is one
};

void channel_state(struct channel *ch, struct channel_state *s);
