// SPDX-License-Identifier: BSD-3-Clause
// A channel, for its thread (channel_thread.c, channel_link.c) and its user (channel_life.c).
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "channel.h"
#include "pair_link.h"

#define CHANNEL_BACK_OFF_MIN 100 // milliseconds

#define CHANNEL_LINKS 5 // the connection, and links that may become it

// An amount that grows at one end, and that the other end follows: late if a value is not reached
// within a second.
struct followed {
	uint64_t amount, reached;
	uint64_t mark, mark_ms; // the amount when the mark before was reached, and when that was
};

struct channel {
	// Constant.
	struct channel_params params;
	char name[PAIR_NAME_MAX], version[PAIR_VERSION_MAX];
	struct tls tls;
	int wake; // eventfd
	pthread_t thread;
	bool runs;
	int (*confine)(void *arg);
	void *confine_arg;
	int confined; // its result, valid after ready
	atomic_bool ready, stop;

	// Of the user.
	uint64_t epoch_seen;

	// Of the thread.
	struct link link[CHANNEL_LINKS];
	struct link *open; // NULL: there is no connection
	int listener, beacons;
	uint64_t sockets_ms, attempt_ms, alive_ms, beacon_ms; // when these are due next
	uint32_t back_off_ms;
	uint64_t beats;         // alive lines sent, on the connection
	uint64_t beats_seen;    // received
	uint64_t verify_second; // of the last signature that was checked,
	unsigned int verified;  // and how many there were in it
	uint64_t warned_ms;     // when a refused connection may be logged next

	// With the lock, from here on.
	pthread_mutex_t lock;
	uint64_t epoch, epochs;
	struct line_queue out, in;
	bool stalled; // the thread waits for room in the queue
	bool config_changed;
	char config[PAIR_CONFIG_MAX];
	uint64_t since_ms, received_ms, refused_ms; // 0: never
	uint64_t deaf_ms; // when the other end has reported that it receives nothing
	struct followed sent, received, beat; // lines of either direction, alive lines
	uint64_t strangers, failures;
	struct pair_hello peer;
	char error[PAIR_REASON_MAX];
};

// Milliseconds of a clock that never steps. Any thread.
uint64_t channel_now_ms(void);

// The body of the thread, which calls the following functions.
void *channel_thread_run(void *channel);

// Sets the text that is shown while there is no connection.
void channel_error_set(struct channel *ch, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

// A connection was refused. peer: it has the address of the other gateway, and is shown if there is
// no connection.
void channel_refuse(struct channel *ch, uint64_t now, bool peer, const char *why);

// The other gateway cannot be connected to: -errno.
void channel_attempt_failed(struct channel *ch, int rc);

// Whether there is room for the lines of a read; if not, the user wakes the thread.
bool channel_may_read(struct channel *ch);

// Connects, reads and writes as far as a link can now. Returns whether it is to be called again at
// once.
bool channel_link_step(struct channel *ch, struct link *l, uint64_t now);

// Ends a link; the other end learns why, if it can still be written to.
void channel_link_end(struct channel *ch, struct link *l, uint64_t now, const char *why);
