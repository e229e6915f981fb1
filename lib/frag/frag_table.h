// SPDX-License-Identifier: BSD-3-Clause
// Incomplete datagrams (RFC 791 3.2, RFC 8200 4.5). The table has room for a fixed number of
// datagrams and of buffers, which holders share. When it is full, the holder with the most buffers
// loses its oldest datagram. One worker; made by the control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "addr.h"
#include "frag_map.h"
#include "keyed_hash.h"

#define FRAG_LANES 256

struct rte_mbuf;
struct sa_in;

#define FRAG_KEY_WORDS 6

// The same for all fragments of a datagram. Unused octets are 0.
struct frag_key {
	union {
		struct {
			struct ip_addr src, dst;
			union { // written at once, as it is read
				struct {
					uint32_t id;    // as in the header
					uint32_t proto; // of IPv4
				};
				uint64_t datagram;
			};
			uint64_t origin; // number of their ingress, see frag_origin.h
		};
		uint64_t word[FRAG_KEY_WORDS];
	};
};

struct frag {
	SLIST_ENTRY(frag) next;
	struct rte_mbuf *m;
	uint16_t off;     // octets of the datagram before its data
	uint16_t hdr_len; // octets of m before the data
	uint16_t n_buffers;
};

SLIST_HEAD(frag_list, frag);

struct frag_datagram {
	struct frag_key key;
	LIST_ENTRY(frag_datagram) same_hash;
	TAILQ_ENTRY(frag_datagram) by_age, of_lane;
	struct frag_list frags; // in no order
	uint32_t n_frags, n_buffers;
	uint32_t weight; // that its lane has for it
	uint64_t begun;  // reception of its first fragment, by the caller's clock
	// Used by the caller, 0 at first, but for one:
	const struct frag *first; // the fragment with offset 0
	bool dropped;             // all further fragments are dropped too
	uint8_t ecn;              // a bit for each received codepoint
	bool df;                  // one had DF
	uint8_t lane;             // its index: the table's own
	uint16_t largest;         // octets of the largest fragment, headers included
	uint16_t port;            // ingress port of the last one
	uint32_t generation;      // of the snapshot that has sa_in
	struct sa_in *sa_in;
	struct frag_map map; // the last one: most of it is not written to
};

TAILQ_HEAD(frag_queue, frag_datagram);
LIST_HEAD(frag_bucket, frag_datagram);

struct frag_lane {
	struct frag_queue oldest;
	uint32_t weight; // datagrams and buffers
	LIST_ENTRY(frag_lane) same_weight;
};

LIST_HEAD(frag_lanes, frag_lane);

struct frag_table {
	struct frag_bucket *buckets;
	uint32_t bucket_mask;
	struct hash_key hash_key;
	struct frag_datagram *datagrams;
	struct frag *frags;
	struct frag_queue free_datagrams, oldest;
	struct frag_list free_frags;
	struct frag_lane lane[FRAG_LANES];
	struct frag_lanes *by_weight; // lanes by weight: finds the fullest without a search
	uint32_t fullest;             // greatest weight of a lane
	uint32_t n_buffers, buffers_max;
	uint32_t n_frags; // that wait
};

// Makes a table for that many datagrams and buffers of their fragments. Returns 0 or -ENOMEM.
int frag_table_init(struct frag_table *t, uint32_t datagrams_max, uint32_t buffers_max,
	const struct hash_key *hash_key);

// The caller frees the mbufs. A table that is all 0, not yet initialised, is allowed.
void frag_table_fini(struct frag_table *t);

// Where a datagram with the key is, if it is in the table.
static inline struct frag_bucket *frag_table_bucket(
	const struct frag_table *t, const struct frag_key *key)
{
	return &t->buckets[keyed_hash(&t->hash_key, key->word, FRAG_KEY_WORDS) & t->bucket_mask];
}

static inline bool frag_key_equal(const struct frag_key *a, const struct frag_key *b)
{
	uint64_t differ = 0;

	for (unsigned int i = 0; i < FRAG_KEY_WORDS; i++)
		differ |= a->word[i] ^ b->word[i];
	return differ == 0;
}

// In the bucket of the key. NULL if there is none.
static inline struct frag_datagram *frag_table_find(
	const struct frag_bucket *bucket, const struct frag_key *key)
{
	struct frag_datagram *d;

	LIST_FOREACH(d, bucket, same_hash)
	if (frag_key_equal(&d->key, key))
		return d;
	return NULL;
}

// Whether there is room for another datagram and that many buffers.
static inline bool frag_table_has_room(const struct frag_table *t, uint32_t n_buffers)
{
	return !TAILQ_EMPTY(&t->free_datagrams) && t->n_buffers + n_buffers <= t->buffers_max;
}

// The datagram to evict. NULL: the table is empty.
struct frag_datagram *frag_table_evictee(const struct frag_table *t);

// The oldest datagram. NULL: the table is empty.
struct frag_datagram *frag_table_oldest(const struct frag_table *t);

// Adds a datagram, for which there is room, to the bucket of its key. Its first fragment is to
// follow.
struct frag_datagram *frag_table_add(
	struct frag_table *t, struct frag_bucket *bucket, const struct frag_key *key, uint64_t now);

// Holds a fragment of n_buffers, for which there is room; the caller fills in the rest of it.
static inline struct frag *frag_table_keep(
	struct frag_table *t, struct frag_datagram *d, uint16_t n_buffers)
{
	struct frag *f = SLIST_FIRST(&t->free_frags);

	SLIST_REMOVE_HEAD(&t->free_frags, next);
	f->n_buffers = n_buffers;
	SLIST_INSERT_HEAD(&d->frags, f, next);
	d->n_frags++;
	d->n_buffers += n_buffers;
	t->n_frags++;
	t->n_buffers += n_buffers;
	return f;
}

// The datagram stays: its holder is charged with its present weight. Call after frag_table_keep(),
// unless frag_table_empty() or frag_table_remove() follows at once.
void frag_table_settle(struct frag_table *t, struct frag_datagram *d);

// Removes the fragments of a datagram, whose mbufs the caller has taken, but not the datagram.
void frag_table_empty(struct frag_table *t, struct frag_datagram *d);

// Removes a datagram, with its fragments.
void frag_table_remove(struct frag_table *t, struct frag_datagram *d);
