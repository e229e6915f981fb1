// SPDX-License-Identifier: BSD-3-Clause
// One connection between the gateways of a pair, from its first packet to its end: the socket, the
// session of TLS, and octets that wait to be written. The channel's thread.
#pragma once

#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>

#include "addr.h"
#include "line.h"
#include "message.h"
#include "tls.h"

#define LINK_OUT_MAX 16384 // octets: at most one record of TLS

enum link_state {
	LINK_NONE,
	LINK_CONNECTING,
	LINK_HANDSHAKE,
	LINK_GREETING, // both are known, and send hello
	LINK_OPEN,
};

struct link {
	enum link_state state;
	int fd;
	bool accepted; // the other end has connected
	SSL *ssl;
	uint64_t begun_ms;    // connecting, or the handshake and the greeting
	uint64_t received_ms; // the last octets
	struct line_reader in;
	struct pair_hello hello; // of the other end, once it is open
	size_t out_len, writing; // of these, octets of the write that is to be done again
	char out[LINK_OUT_MAX];
};

// The address of a socket; returns its length.
socklen_t link_address(struct sockaddr_storage *s, const struct ip_addr *addr, uint16_t port);

// Whether this is the address, of any port.
bool link_address_is(const struct sockaddr_storage *s, const struct ip_addr *addr);

// Begins to connect from one address to another. Returns 0 or -errno.
int link_connect(struct link *l, const struct ip_addr *from, const struct ip_addr *to,
	uint16_t port, uint64_t now_ms);

// Begins a session on a socket, which it takes. Returns 0 or -errno.
int link_begin(struct link *l, const struct tls *t, int fd, bool accepted, uint64_t now_ms);

// Finds out whether a link that is connecting has connected: 0, -EINPROGRESS, or -errno.
int link_connected(const struct link *l);

// Appends a line of len octets, without its end, to those to be written. False: there is no room.
bool link_add(struct link *l, const char *line, size_t len);

// Writes as much as the socket takes. TLS_DONE: all.
enum tls_result link_flush(struct link *l);

// The events to be polled for.
short link_events(const struct link *l);

void link_close(struct link *l);
