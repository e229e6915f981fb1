// SPDX-License-Identifier: BSD-3-Clause
// A hash table that grows and shrinks by one bucket at a time (linear hashing, Litwin 1980), so
// that no insertion among a million entries stalls the control thread. Entries embed struct
// linear_node; their owner compares keys, links and unlinks them in the chain of a bucket, and
// calls linear_hash_added() or linear_hash_removed() afterwards. Entries of a chain keep their
// order. Control thread.
#pragma once

#include <stdint.h>

struct linear_node {
	struct linear_node *next;
	uint32_t hash;  // all bits of it are used
	uint32_t value; // of the owner: there is room for it
};

struct linear_hash {
	struct linear_node ***segment; // arrays of buckets
	unsigned int n_buckets, n_nodes;
};

// Returns 0 or -ENOMEM.
int linear_hash_open(struct linear_hash *h);

// The owner has removed all entries.
void linear_hash_close(struct linear_hash *h);

// The head of a chain: by number, below n_buckets; or the one of a hash.
struct linear_node **linear_hash_bucket(const struct linear_hash *h, unsigned int number);
struct linear_node **linear_hash_find(const struct linear_hash *h, uint32_t hash);

// An entry was added: may split a bucket, whose entries move to the last bucket. Pointers into
// chains are no longer valid.
void linear_hash_added(struct linear_hash *h);

// An entry was removed. No chain changes until linear_hash_shrink().
void linear_hash_removed(struct linear_hash *h);

// Removes the last bucket if there are more than enough. Returns whether it did.
int linear_hash_shrink(struct linear_hash *h);
