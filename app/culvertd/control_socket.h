// SPDX-License-Identifier: BSD-3-Clause
// A socket by which a running daemon is told what to do: a Unix socket of packets (SEQPACKET), in
// the folder of DPDK's files. root, the daemon's own user and the members of its group may; whoever
// else gets as far as connecting is told that he may not.
//
// A client sends one packet, its request (request.h), gets one answer, in as many packets as it
// takes, and the connection is closed. There are bounds for everything, so that no client stands in
// the way of traffic or of other clients: their number, the size of a request, and the time until a
// client has sent its request or taken the next piece of its answer.
//
// A subscriber stays: behind the answer it gets one packet for each event (event_log.h). One that
// does not read loses events, and nobody waits for it. Control thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"

#define CONTROL_CLIENTS_MAX     16
#define CONTROL_SUBSCRIBERS_MAX 8
#define CONTROL_REQUEST_MAX     (64 * 1024) // octets
// An answer of so many octets needs no memory: that a change was made or refused can always be
// said.
#define CONTROL_SHORT_ANSWER 256

enum control_state {
	CONTROL_NONE, // no client is here
	CONTROL_ASKS, // its request has not come yet
	CONTROL_WAITS,
	CONTROL_SERVED,
	CONTROL_ANSWERED, // it has not taken all of the answer yet
	CONTROL_SUBSCRIBED,
};

struct control_request {
	char *text; // ends with NUL
	size_t len;
	uid_t uid; // who asks
	pid_t pid;
};

struct control_client {
	enum control_state state;
	int fd;
	uint64_t number;      // clients are served in the order in which they came
	uint64_t deadline_ms; // with CONTROL_ASKS, CONTROL_ANSWERED
	struct control_request request;
	char *answer; // short_answer, or memory of its own
	char short_answer[CONTROL_SHORT_ANSWER];
	size_t answer_len, answer_sent;
	uint64_t position; // with CONTROL_SUBSCRIBED: of the next event, see event_log.h
};

// What a socket is for.
struct control_access {
	const char *file, *setting; // its name, and the setting that names its group
	bool changes;               // its clients may change something
};

struct control_socket {
	int fd; // -1: it is closed
	const struct control_access *access;
	gid_t group;   // -1: none
	uint64_t came; // clients so far
	struct control_client client[CONTROL_CLIENTS_MAX];
};

// Makes the socket for the members of the group (NULL: there are none), which is that of the
// setting. access has to stay. Returns 0, or -EIO after logging why not. When DPDK has made its
// folder, and before privileges are given up.
int control_socket_open(struct control_socket *s, const struct conf *conf,
	const struct control_access *access, const char *group);

// Takes what clients have sent and sends what they can take. To be called often.
void control_socket_tick(struct control_socket *s, uint64_t now_ms);

// The next request that has come; its text is the caller's. False if there is none. It has to be
// answered before there is another.
bool control_socket_take(struct control_socket *s, struct control_request *request);

// Answers it: "STATUS OCTETS", a newline and the text. Without memory for that, it is refused.
void control_socket_answer(
	struct control_socket *s, const char *status, const char *text, uint64_t now_ms);

// Answers it with that text, and sends the events that come from now on behind it. False if there
// are CONTROL_SUBSCRIBERS_MAX already: it has still to be answered.
bool control_socket_subscribe(struct control_socket *s, const char *text);

// Closes everything; a closed one, too. DPDK's folder goes with what is in it.
void control_socket_close(struct control_socket *s);
