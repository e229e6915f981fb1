// SPDX-License-Identifier: BSD-3-Clause
// The conversation with one daemon over its control socket, and over DPDK's telemetry socket
// (version 2): packets of JSON on a Unix socket. Used by culvertctl and by the plugin for charon.
// The daemon greets with {"version", "pid", "max_output_len"}; then each packet asks one question
// and brings one answer. One thread.
//
// Lists: "/culvert/sas,OFFSET" is answered with {"/culvert/sas": {"OFFSET": {...}, ...}}, the items
// from that number on, each under its number, as many as fit; after the last one with {}. (Items in
// an array would be simpler, but DPDK 22.11 has no arrays of objects.) Some lists take a filter,
// "/culvert/flows,OFFSET,KEY=VALUE,..."; a question that the daemon refuses is answered with
// {"/culvert/flows": {"error": "why"}}.
//
// Errors, as negative errno:
//   EACCES        the socket is not for this user
//   ENOENT        no such socket
//   ECONNREFUSED  no process listens on the socket: its daemon is gone
//   ECONNRESET    the daemon closed the connection
//   ETIMEDOUT     no answer in time
//   ENOSYS        the daemon does not know the command
//   EBADRQC       the daemon refuses the question
//   EPROTO        the answer does not have the form above
//   ENOMEM        and all others of socket(2) and connect(2)
#pragma once

#include <jansson.h>
#include <sys/types.h>
#include <sys/un.h>

// Octets of a filter with its NUL.
#define CLIENT_FILTER_MAX 512

// Connects; an answer may take answer_s seconds. Returns a descriptor, the caller closes it; or an
// error.
int client_connect(const struct sockaddr_un *addr, unsigned int answer_s);

// Connects and takes the greeting; *pid is the process that sent it. Returns a descriptor, the
// caller closes it; or an error.
int client_open(pid_t *pid, const struct sockaddr_un *addr);

// Asks for the list of a command ("/culvert/sas"), in several requests, and appends to the array
// items the objects that follow its own. filter: "" or ",KEY=VALUE,...". With EBADRQC items becomes
// an array of one string, the reason. Returns 0 or an error. fd stays open, but is of no use after
// an error.
int client_list(json_t *items, int fd, const char *command, const char *filter);

#define CLIENT_REQUEST_S 120 // until a request is done

// Answer of a daemon on its control socket, see lib/control/requests.h.
struct answer {
	char status[16];
	char *text;
};

// Sends a request. Returns 0 or an error.
int client_send(int fd, const char *request);

// Connects to a control socket, sends a request, and waits for the answer, which answer_fini()
// frees. Returns 0 or an error.
int client_ask(struct answer *answer, const struct sockaddr_un *addr, const char *request);

void answer_fini(struct answer *answer);

// The meaning of an error of the functions above, for the user.
const char *client_strerror(int error);
