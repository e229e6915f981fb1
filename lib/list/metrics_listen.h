// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets of the metrics endpoint. Control thread.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "conf.h"

struct metrics_address {
	union {
		struct sockaddr_storage any;
		struct sockaddr_un unix_path;
	};
	socklen_t len; // 0: not configured
	mode_t mode;   // of the socket at unix_path
	char name[sizeof(
		((struct sockaddr_un *)0)->sun_path)]; // for messages: "127.0.0.1 port 9469"
};

// The TCP address of the configuration, and the path of its Unix socket.
struct metrics_address metrics_address_tcp(const struct conf *conf);
struct metrics_address metrics_address_unix(const struct conf *conf);

// Returns a listening, non-blocking socket for the caller to close, or -1 after writing the reason
// to why (size octets). The folder of a Unix socket must be one that others cannot write.
int metrics_listen(
	const struct metrics_address *a, const struct conf *conf, char *why, size_t size);

// Removes the path of a Unix socket that metrics_listen() returned.
void metrics_unlisten(const struct metrics_address *a);

// Gives the path of a Unix socket that metrics_listen() returned another mode. Returns 0, or -1
// with errno.
int metrics_mode_set(const struct metrics_address *a);
