// SPDX-License-Identifier: BSD-3-Clause
// A socket for requests to a running daemon: a Unix socket of packets (SEQPACKET), in the folder of
// DPDK's files. root, the daemon's own user and the members of its group have permission; any other
// client that connects gets an answer that denies it.
//
// A client sends one packet, its request (requests.h), gets one answer, in as many packets as it
// takes, and the connection is closed. There are limits for everything, so that no client delays
// traffic or other clients: their number, the size of a request, and the time until a
// client has sent its request or received the next piece of its answer.
//
// A subscriber stays: after the answer it gets one packet for each event (event_log.h). One that
// does not read loses events. Control thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"
#include "requests.h"

#define CONTROL_CLIENTS_MAX     16
#define CONTROL_SUBSCRIBERS_MAX 8
#define CONTROL_REQUEST_MAX     (64 * 1024) // octets
// An answer up to this size needs no memory, so that success or refusal is always reported.
#define CONTROL_SHORT_ANSWER 256

enum control_state {
	CONTROL_NONE, // no client
	CONTROL_ASKS, // its request is not received yet
	CONTROL_WAITS,
	CONTROL_SERVED,
	CONTROL_ANSWERED, // not all of the answer is sent yet
	CONTROL_SUBSCRIBED,
};

struct control_client {
	enum control_state state;
	int fd;
	uint64_t number;      // clients are served in the order of their connections
	uint64_t deadline_ms; // with CONTROL_ASKS, CONTROL_ANSWERED
	struct control_request request;
	char *answer; // short_answer, or memory of its own
	char short_answer[CONTROL_SHORT_ANSWER];
	size_t answer_len, answer_sent;
	uint64_t position; // with CONTROL_SUBSCRIBED: of the next event, see event_log.h
};

// Purpose of a socket.
struct control_access {
	const char *file, *setting; // its name, and the setting that names its group
	bool changes;               // its clients may change something
};

struct control_socket {
	int fd; // -1: it is closed
	const struct control_access *access;
	gid_t group;   // -1: none
	uint64_t came; // connections so far
	struct control_client client[CONTROL_CLIENTS_MAX];
};

// Makes the socket for the members of the group (-1: there is none). access has to stay. Returns 0,
// or -EIO after logging why not. When DPDK has made its folder, and before privileges are given up.
int control_socket_open(struct control_socket *s, const struct conf *conf,
	const struct control_access *access, gid_t group);

// Receives requests and sends answers, as far as sockets allow. Call it often.
void control_socket_tick(struct control_socket *s, uint64_t now_ms);

// Descriptor to poll for new clients; -1 while there is no place for one.
int control_socket_fd(struct control_socket *s);

// Whether clients wait for an answer, or have not taken all of it.
bool control_socket_is_busy(const struct control_socket *s);

// The next request that is wanted; NULL: any is. The caller owns its text. False if there is none.
// It has to be answered.
bool control_socket_take(
	struct control_socket *s, struct control_request *request, request_wanted *wanted);

// Answers a request that was taken: "STATUS OCTETS", a newline and the text. Without memory for
// that, it is refused.
void control_socket_answer(struct control_socket *s, const struct control_request *request,
	const char *status, const char *text, uint64_t now_ms);

// Answers it with that text, and sends all later events after it. False if there are
// CONTROL_SUBSCRIBERS_MAX already: it has still to be answered.
bool control_socket_subscribe(
	struct control_socket *s, const struct control_request *request, const char *text);

// Closes everything; a socket that is closed is allowed. DPDK's folder is removed with its files.
void control_socket_close(struct control_socket *s);
