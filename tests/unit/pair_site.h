// SPDX-License-Identifier: BSD-3-Clause
// For tests of the channel of a pair: keys, clients of TLS that are no channel, and a proxy that
// cuts one direction.
#pragma once

#include <openssl/ssl.h>

#include "channel.h"

#define SITE_LISTENS  "127.0.0.1" // the lower address
#define SITE_PROXY    "127.0.0.3"
#define SITE_CONNECTS "127.0.0.5"

enum site_key { KEY_A, KEY_B, KEY_STRANGER, KEYS };

// Texts in PEM.
extern char *site_key[KEYS], *site_certificate[KEYS];

// Group fixtures.
int site_make(void **state);
int site_remove(void **state);

// A port that nobody uses.
uint16_t site_port(void);

// Parameters of the gateway that listens (member 1, with KEY_A) or connects (member 2, KEY_B).
struct channel_params site_params(bool listens, uint16_t port);

// Starts a channel.
struct channel *site_start(const struct channel_params *p);

// Waits for at most ten seconds. Returns whether is() has become true.
bool site_wait(bool (*is)(void *arg), void *arg);

// A socket of TCP that has connected from an address to the one that listens.
int site_connect(const char *from, uint16_t port);

struct site_client {
	int fd;
	SSL_CTX *ctx;
	SSL *ssl;
};

// A client of TLS with a key, from the address of the gateway that connects. Returns whether the
// handshake has succeeded.
bool site_client(struct site_client *c, enum site_key key, uint16_t port, int max_version);
void site_client_send(struct site_client *c, const char *octets, size_t len);
// Reads lines until one begins with that text, and writes it. False: the connection ended before.
bool site_client_read(struct site_client *c, const char *begin, char line[2 * LINE_LEN_MAX]);
void site_client_end(struct site_client *c);

// A proxy between the two, which passes on both TCP and UDP, on SITE_PROXY.
void site_proxy_start(uint16_t port);
void site_proxy_cut(bool to_listening, bool to_connecting);
void site_proxy_stop(void);
