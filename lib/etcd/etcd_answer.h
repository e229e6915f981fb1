// SPDX-License-Identifier: BSD-3-Clause
// Answers of etcd, parsed as those of a stranger: whatever the text is, it becomes one of these
// structs or an error. Pure functions; any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETCD_KEYS_MAX  4096
#define ETCD_VALUE_MAX (1024 * 1024) // octets

struct etcd_key {
	char *name, *value; // printable ASCII, the value with ends of lines; "" if it is not that
	char *coded;        // the value as etcd has sent it, in base64
	int64_t revision;   // of its last change,
	int64_t created;    // and of the one that made it
	int64_t lease;      // 0: none
	unsigned int range; // of the request, from 0
};

// Of a transaction.
struct etcd_result {
	bool succeeded;   // all conditions were met
	int64_t revision; // of etcd
	struct etcd_key *keys;
	unsigned int n_keys;
	int64_t counts[2]; // keys in each range, also unchanged ones
};

// Returns 0, -EBADMSG or -ENOMEM. Call etcd_result_free() in any case.
int etcd_result_read(struct etcd_result *r, const char *text);
void etcd_result_free(struct etcd_result *r);

// Reads the number and the seconds of a lease; 0: it has ended. Returns 0 or -EBADMSG.
int etcd_lease_read(int64_t *lease, int64_t *seconds, const char *text);

// Reads why a request was refused, printable ASCII. False: it is no such text.
bool etcd_refusal_read(const char *text, char *why, size_t size);
