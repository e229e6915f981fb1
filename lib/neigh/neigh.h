// SPDX-License-Identifier: BSD-3-Clause
// Neighbour table: the link address of every next hop of either family (RFC 826, RFC 4861; states
// after 7.3.2 there). Requests are repeated every second, three times (RFC 1122 2.3.2.1; RFC 4861
// 10); a stale entry that is used is probed at once, not after 5 seconds.
//
// The control thread alone writes: it resolves, refreshes and ages. Workers look entries up and
// read the link address, which is one atomic word; they post events (lib/dp) for addresses that
// they need or receive, and mark entries as used. The place of an entry is reused only after a
// grace period of all workers (QSBR).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_rcu_qsbr.h>

#include "addr.h"

enum neigh_state {
	NEIGH_INCOMPLETE, // solicited, no answer yet
	NEIGH_REACHABLE,  // confirmed recently
	NEIGH_STALE,      // address known, to be confirmed when it is used
	NEIGH_PROBE,      // address known, being confirmed
	NEIGH_FAILED,     // does not answer
	NEIGH_STATIC,     // from the configuration
};

struct neigh;
struct neigh_table;

#define NEIGH_PORTS_MAX 16

// New entries and repeated requests for packets, of each port and second, and as many entries for
// senders of ARP packets and solicitations: a flood on one link neither keeps the control thread
// busy, nor takes the requests of other links, nor with made-up senders those of its own.
#define NEIGH_REQUESTS_MAX 1000

// Holders share the requests for packets, by number: see worker_holder(). Within a second or so a
// holder may have this many times as many as are left on the port: a single holder most of them,
// and a holder that has had few always some.
#define NEIGH_HOLDER_SHARE 4
#define NEIGH_HOLDER_OWN   UINT32_MAX // packets that the gateway itself originates

struct neigh_params {
	uint32_t max;         // entries
	unsigned int n_ports; // that share them alike; 0: as 1
	uint32_t reachable_s; // seconds that an entry stays reachable after an answer
	struct rte_rcu_qsbr *qsbr;
	// Sends a request for addr on a port; to its last link address if not NULL, else to all.
	void (*solicit)(void *arg, uint16_t port, const struct ip_addr *addr,
		const struct rte_ether_addr *to);
	void *arg;
};

struct neigh_view {
	struct ip_addr addr;
	uint16_t port;
	enum neigh_state state;
	struct rte_ether_addr mac; // zero while not known
	uint32_t age_s;            // seconds since the last answer, 0 if there was none
};

// Control thread. Time is in milliseconds of a clock that never steps.

// Returns NULL with errno ENOMEM.
struct neigh_table *neigh_table_new(const struct neigh_params *p);
void neigh_table_free(struct neigh_table *t);

// Adds or replaces a static entry. Returns 0 or -ENOSPC.
int neigh_set_static(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	const struct rte_ether_addr *mac);

// Makes an ordinary entry of a static one, to be confirmed when it is used. Nothing happens if it
// is none.
void neigh_unset_static(
	struct neigh_table *t, uint16_t port, const struct ip_addr *addr, uint64_t now);

// Changes how many seconds an entry stays reachable after an answer.
void neigh_reachable_set(struct neigh_table *t, uint32_t reachable_s);

// Changes how many ports share the entries alike.
void neigh_ports_set(struct neigh_table *t, unsigned int n_ports);

// A worker has a packet for addr and no link address. Starts to resolve it, unless that has begun
// or the holder has used up its share.
void neigh_resolve(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	uint32_t holder, uint64_t now);

// An ARP packet: addr has this link address. Updates an existing entry; adds one only if create,
// that is when the packet was for an own address (RFC 826). In a full table a new entry
// takes the place of one that does not answer, else of one that nobody uses: of its own port if
// that has its share, else of one that has more.
void neigh_learn(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	const struct rte_ether_addr *mac, bool create, uint64_t now);

// The link address of the sender of a solicitation (RFC 4861 7.2.3, 6.2.6): known, but stale until
// it answers. Adds an entry only if create, that is when the target is an own address.
void neigh_solicited(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	const struct rte_ether_addr *mac, bool create, uint64_t now);

// An advertisement of addr (RFC 4861 7.2.5).
struct neigh_advert {
	const struct rte_ether_addr *mac; // NULL: it has none
	bool solicited, override;
};

// Updates an existing entry.
void neigh_advertised(struct neigh_table *t, uint16_t port, const struct ip_addr *addr,
	struct neigh_advert advert, uint64_t now);

// Repeats requests, refreshes entries in use, ages and removes others. Call every 100 ms or so.
void neigh_tick(struct neigh_table *t, uint64_t now);

// Removes the entries of a port that are not static: its link is down, and other stations may be on
// it when it is up again.
void neigh_forget(struct neigh_table *t, uint16_t port);

// Removes an entry that is not static: it is resolved again when it is used. False: there is none.
bool neigh_remove(struct neigh_table *t, uint16_t port, const struct ip_addr *addr);

// Copies up to n entries from the offset-th on; returns how many. The entry after the last list is
// found at once. Callers exclude the functions above, and each other, for the time of the call.
unsigned int neigh_list(struct neigh_table *t, struct neigh_view out[], unsigned int n,
	unsigned int offset, uint64_t now);

// Whether the address was asked for and does not answer. As neigh_list().
bool neigh_failed(const struct neigh_table *t, uint16_t port, const struct ip_addr *addr);

const char *neigh_state_name(enum neigh_state state);

// Whether there is an entry for the address, in whatever state. Does not count as use. Any thread.
bool neigh_has(const struct neigh_table *t, uint16_t port, const struct ip_addr *addr);

// Workers, which look up link addresses by neigh_lookup.h.

// Positions at which a worker found addresses recently, so that it rarely searches the table; they
// may be wrong. The index is the end of the address: hosts of one network, whose addresses mostly
// follow each other, neither share hints nor spread over more cache lines than they need. Addresses
// chosen to share one make lookups as expensive as without hints. Each worker has its own, zeroed
// at first.
#define NEIGH_HINTS 65536

struct neigh_hints {
	uint32_t position[NEIGH_HINTS];
};

enum neigh_answer { NEIGH_KNOWN, NEIGH_WAIT, NEIGH_UNREACHABLE };
