// SPDX-License-Identifier: BSD-3-Clause
// The conversation with one daemon over DPDK's telemetry socket (version 2): packets of JSON on a
// Unix socket. The daemon greets with {"version", "pid", "max_output_len"}; then each packet asks
// one question and brings one answer. One thread.
//
// Lists: "/culvert/sas,OFFSET" is answered with {"/culvert/sas": {"OFFSET": {...}, ...}}, the items
// from that number on, each under its number, as many as fit; behind the last one with {}. (Items
// in an array would be simpler, but DPDK 22.11 has no arrays of objects.)
//
// Errors, as negative errno:
//   EACCES        the socket is not for this user
//   ENOENT        no such socket
//   ECONNREFUSED  a socket that nobody listens on: its daemon is gone
//   ECONNRESET    the daemon closed the connection
//   ETIMEDOUT     no answer in time
//   ENOSYS        the daemon does not know the command
//   EPROTO        the answer is not what is described above
//   ENOMEM        and whatever else socket(2) and connect(2) return
#pragma once

#include <jansson.h>
#include <sys/types.h>
#include <sys/un.h>

// Connects and takes the greeting; *pid is the process that sent it. Returns a descriptor, the
// caller closes it; or an error.
int client_open(pid_t *pid, const struct sockaddr_un *addr);

// Asks for the whole list of a command ("/culvert/sas"), as often as it takes. *items becomes a new
// array of objects. Returns 0 or an error. fd stays open, but is of no use after an error.
int client_list(json_t **items, int fd, const char *command);

// What an error of the two above means to the user.
const char *client_strerror(int error);
