// SPDX-License-Identifier: BSD-3-Clause
// A client of etcd, by its JSON gateway. A thread of its own sends one request at a time to one of
// several endpoints, and to the next one if that does not answer; it touches nothing of the
// gateway. etcd_text.h has the requests, etcd_answer.h the answers.
//
// All functions are for one thread, which is never made to wait, except where noted.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ETCD_ENDPOINTS_MAX 8
#define ETCD_ERROR_MAX     128
#define ETCD_TEXT_MAX      (8 * 1024 * 1024) // octets of an answer

enum etcd_call {
	ETCD_TXN,
	ETCD_LEASE_GRANT,
	ETCD_LEASE_KEEPALIVE,
	ETCD_LEASE_REVOKE,
};

struct etcd_params {
	char *const *endpoints; // such as "https://10.9.0.1:2379", at most ETCD_ENDPOINTS_MAX
	unsigned int n_endpoints;
	// In PEM. ca: of the certificates of https; NULL: the others are not given
	// either. certificate: of this gateway; NULL: none.
	const char *ca, *certificate, *key;
};

struct etcd;

// Copies the parameters. Returns NULL with errno ENOMEM.
struct etcd *etcd_new(const struct etcd_params *p);

// Starts the thread, which first confines itself: confine() returns 0 or -errno. Returns 0 or
// -errno.
int etcd_start(struct etcd *e, int (*confine)(void *arg), void *arg);

// Ends the thread, also in the middle of a request. NULL is allowed.
void etcd_free(struct etcd *e);

// Sends a request, of which etcd has the body until its answer is taken: freed with free(). One at
// a time: the answer of the one before has been taken.
void etcd_ask(struct etcd *e, enum etcd_call call, char *body);

// Takes the answer to the last request. False: there is none yet. *text: to be freed with free();
// NULL: no endpoint has given one, for the reason in error, printable ASCII.
bool etcd_take(struct etcd *e, char **text, char error[ETCD_ERROR_MAX]);
