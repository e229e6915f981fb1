// SPDX-License-Identifier: BSD-3-Clause
// Requests to etcd as JSON (etcd's rpc.proto, as its gateway has it): each to be freed with free();
// NULL: there is no memory. Pure functions; any thread.
#pragma once

#include <stdint.h>

// ETCD_LEASE_GRANT: a lease of this many seconds.
char *etcd_grant_text(unsigned int seconds);

// ETCD_LEASE_KEEPALIVE, ETCD_LEASE_REVOKE.
char *etcd_lease_text(int64_t lease);

// ETCD_TXN: makes a key with a lease, unless it exists.
char *etcd_make_text(const char *key, const char *value, int64_t lease);

// ETCD_TXN: gives a key another value, if it has the lease.
char *etcd_change_text(const char *key, const char *value, int64_t lease);

// ETCD_TXN: nothing but the revision of etcd. The key is one that its user may read.
char *etcd_poll_text(const char *key);

// ETCD_TXN: the keys that begin with members and have changed from a revision on, and the same of
// groups, in the ranges 0 and 1 of the answer.
char *etcd_read_text(
	const char *members, int64_t members_since, const char *groups, int64_t groups_since);

// ETCD_TXN: replaces the value of a key whose last change is this revision (0: it does not exist),
// and whose value is coded, as of struct etcd_key, if the key of the member exists with its lease:
// after a restored backup, another value can have the same revision. The answer has the key as it
// is then, in any case.
char *etcd_replace_text(const char *key, const char *value, int64_t revision, const char *coded,
	const char *member, int64_t lease);
